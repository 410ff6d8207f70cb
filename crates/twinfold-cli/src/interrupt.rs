//! Ctrl-C and a polite kill: the output folder is left as it was, one line says so, and the exit code
//! is 130 or 143, as a shell expects. A second signal ends the run at once; what it leaves, the next
//! run removes.
//!
//! A thread waits for the first signal. It does not stop the others: they fail when they next write,
//! and [`Interrupts::wait_if_begun`] keeps what they say to themselves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use twinfold_io::publish::{FolderCleanup, OutputFolder, PublishError};
use twinfold_io::work::WorkCleanup;

use crate::fault::Fault;
use crate::progress::Progress;

/// What an interrupt has to clean up.
struct Running {
    cleanup: FolderCleanup,
    work: Option<WorkCleanup>,
    progress: Arc<Progress>,
    out: PathBuf,
}

#[derive(Clone, Default)]
pub(crate) struct Interrupts {
    running: Arc<Mutex<Option<Running>>>,
    #[cfg(unix)]
    begun: Arc<std::sync::atomic::AtomicBool>,
    /// Set a moment after the first signal.
    #[cfg(unix)]
    armed: Arc<std::sync::atomic::AtomicBool>,
}

impl Interrupts {
    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Claims the output folder. An interrupt that comes meanwhile waits until it is claimed.
    pub(crate) fn claim(
        &self,
        progress: &Arc<Progress>,
        claim: impl FnOnce() -> Result<OutputFolder, PublishError>,
    ) -> Result<OutputFolder, PublishError> {
        let mut running = self.running();
        let folder = claim()?;
        *running = Some(Running {
            cleanup: folder.cleanup(),
            work: None,
            progress: Arc::clone(progress),
            out: folder.path().to_owned(),
        });
        Ok(folder)
    }

    /// The run has a work folder, too.
    pub(crate) fn works_in(&self, work: WorkCleanup) {
        if let Some(running) = &mut *self.running() {
            running.work = Some(work);
        }
    }
}

#[cfg(unix)]
mod signals {
    use std::io::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    use super::{Fault, Interrupts, WorkCleanup};

    /// How long one signal stays one, however often it comes.
    const IMPATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

    impl Interrupts {
        /// Waits for signals from now on.
        pub(crate) fn install() -> Result<Self, Fault> {
            let interrupts = Self::default();
            let waiting = interrupts.clone();
            let mut signals = interrupts
                .register()
                .map_err(|error| Fault::new(format!("cannot wait for signals: {error}")))?;
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    waiting.end(signal);
                }
            });
            Ok(interrupts)
        }

        /// The first signal sets the flag, and one that comes when `armed` is set ends the process.
        fn register(&self) -> std::io::Result<Signals> {
            for signal in [SIGHUP, SIGINT, SIGTERM] {
                flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&self.armed))?;
                flag::register(signal, Arc::clone(&self.begun))?;
            }
            // A file that may not grow further is an error of the write, and no reason to die.
            flag::register(SIGXFSZ, Arc::default())?;
            Signals::new([SIGHUP, SIGINT, SIGTERM])
        }

        fn end(&self, signal: i32) -> ! {
            // Whoever sends a signal to a process and to its group means one: a moment passes before
            // another one is taken for impatience.
            let armed = Arc::clone(&self.armed);
            std::thread::spawn(move || {
                std::thread::sleep(IMPATIENCE);
                armed.store(true, Ordering::SeqCst);
            });
            let running = self.running();
            let said = match &*running {
                None => "interrupted: nothing was written".to_owned(),
                Some(running) => {
                    running.progress.stop();
                    let out = running.out.display();
                    let complete = running.cleanup.abandon();
                    if let (true, Some(work)) = (complete, &running.work) {
                        work.finish();
                    }
                    let kept = running.work.as_ref().and_then(WorkCleanup::abandon);
                    match (complete, kept) {
                        (true, _) => format!("interrupted: the results in {out} are complete"),
                        (false, None) => format!("interrupted: nothing was written to {out}"),
                        (false, Some((work, stage))) => format!(
                            "interrupted: nothing was written to {out}; {} holds the run up to its \
                             stage {stage}, to go on from with --resume",
                            work.display()
                        ),
                    }
                }
            };
            let _ = writeln!(std::io::stderr(), "{said}");
            std::process::exit(128 + signal)
        }

        /// Once a signal has come, the process is about to end, and has nothing more to say.
        pub(crate) fn wait_if_begun(&self) {
            while self.begun.load(Ordering::SeqCst) {
                std::thread::park();
            }
        }
    }
}

/// Where there are no signals, an interrupt ends the process at once, and the next run cleans up.
#[cfg(not(unix))]
impl Interrupts {
    pub(crate) fn install() -> Result<Self, Fault> {
        Ok(Self::default())
    }

    pub(crate) fn wait_if_begun(&self) {}
}
