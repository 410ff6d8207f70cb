//! Progress on standard error: bars on a terminal, plain lines elsewhere. It also keeps the times
//! of the stages, whether or not they are shown.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use twinfold::pipeline::{Observer, Stage};
use twinfold_io::publish::StageTime;

use crate::words::counted;

/// When progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum When {
    /// Unless the run is quiet.
    #[default]
    Auto,
    /// Even if the run is quiet.
    Always,
    /// Not at all.
    Never,
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err(format!(
                "{text:?} does not say when to show progress; there are: auto, always, never"
            )),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        })
    }
}

/// What a stage's work is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes of the input.
    Bytes,
    /// Pair slots.
    Slots,
    /// Documents.
    Documents,
    /// Relations.
    Files,
    /// Nothing that can be counted.
    None,
}

/// A line on standard error; that nobody can read it is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Shows and times the stages of a run.
pub(crate) struct Progress {
    shown: Shown,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Bars,
    Lines,
    Nothing,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    times: Vec<StageTime>,
    /// Nothing is shown any more.
    stopped: bool,
}

struct Current {
    name: &'static str,
    unit: Unit,
    total: Option<u64>,
    done: u64,
    documents: u64,
    start: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

/// A long stage says how it is getting on this often where lines are plain.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

impl Progress {
    pub(crate) fn new(when: When, quiet: bool) -> Self {
        let show = when == When::Always || (when == When::Auto && !quiet);
        let shown = match show {
            true if std::io::stderr().is_terminal() => Shown::Bars,
            true => Shown::Lines,
            false => Shown::Nothing,
        };
        Self {
            shown,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Ends the stage that runs and begins the next.
    pub(crate) fn stage(&self, name: &'static str, unit: Unit, total: Option<u64>) {
        let mut state = self.state();
        self.end(&mut state);
        if state.stopped {
            return;
        }
        let bar = (self.shown == Shown::Bars).then(|| {
            let bar = match total {
                Some(total) => ProgressBar::new(total),
                None => ProgressBar::new_spinner(),
            };
            let template = match (unit, total) {
                (Unit::Bytes, Some(_)) => {
                    "{msg:12} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} eta {eta}"
                }
                (Unit::Bytes, None) => "{msg:12} {spinner} {bytes} {bytes_per_sec}",
                (_, Some(_)) => "{msg:12} {wide_bar} {human_pos}/{human_len} {per_sec} eta {eta}",
                (_, None) => "{msg:12} {spinner} {elapsed}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_message(name);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let now = Instant::now();
        state.current = Some(Current {
            name,
            unit,
            total,
            done: 0,
            documents: 0,
            start: now,
            last_line: now,
            bar,
        });
    }

    /// So much more is done; `documents` only counts while reading.
    pub(crate) fn add(&self, work: u64, documents: u64) {
        let mut state = self.state();
        let Some(current) = &mut state.current else {
            return;
        };
        current.done += work;
        current.documents += documents;
        if let Some(bar) = &current.bar {
            bar.inc(work);
        }
        if self.shown == Shown::Lines && current.last_line.elapsed() >= LINE_INTERVAL {
            current.last_line = Instant::now();
            say(&current.line("..."));
        }
    }

    /// Says what the stages that follow belong to, where there are several rounds of them.
    pub(crate) fn section(&self, name: &str) {
        let mut state = self.state();
        self.end(&mut state);
        if self.shown != Shown::Nothing {
            say(name);
        }
    }

    /// Says something between two stages.
    pub(crate) fn note(&self, text: &dyn std::fmt::Display) {
        let mut state = self.state();
        self.end(&mut state);
        if self.shown != Shown::Nothing {
            say(&text.to_string());
        }
    }

    /// Ends the last stage, and gives the times of all since the last call.
    pub(crate) fn finish(&self) -> Vec<StageTime> {
        let mut state = self.state();
        self.end(&mut state);
        std::mem::take(&mut state.times)
    }

    /// Shows nothing from now on: the run is about to end in the middle of a stage.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        if let Some(bar) = state.current.take().and_then(|current| current.bar) {
            bar.finish_and_clear();
        }
    }

    fn end(&self, state: &mut State) {
        let Some(current) = state.current.take() else {
            return;
        };
        if let Some(bar) = &current.bar {
            bar.finish_and_clear();
        }
        if self.shown != Shown::Nothing {
            say(&current.line(""));
        }
        let seconds = current.start.elapsed().as_secs_f64();
        state.times.push(StageTime {
            stage: current.name.into(),
            seconds,
        });
    }
}

impl Current {
    fn line(&self, suffix: &str) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = |work: u64| (work as f64 / seconds.max(1e-9)) as u64;
        let share = match self.total {
            Some(total) if total > 0 && self.done < total => {
                format!(" ({}%)", self.done.saturating_mul(100) / total)
            }
            _ => String::new(),
        };
        let work = match self.unit {
            _ if self.done == 0 => String::new(),
            Unit::Bytes => format!(
                "  {}, {}{share}  {} documents/s, {}/s",
                counted(self.documents, "document", "documents"),
                HumanBytes(self.done),
                HumanCount(rate(self.documents)),
                HumanBytes(rate(self.done)),
            ),
            Unit::Slots => format!(
                "  {}{share}  {} slots/s",
                counted(self.done, "slot", "slots"),
                HumanCount(rate(self.done))
            ),
            Unit::Documents => format!(
                "  {}{share}  {} documents/s",
                counted(self.done, "document", "documents"),
                HumanCount(rate(self.done))
            ),
            Unit::Files => format!("  {}", counted(self.done, "file", "files")),
            Unit::None => String::new(),
        };
        format!("{:<12} {seconds:>8.2} s{work}{suffix}", self.name)
    }
}

impl Observer for Progress {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        let unit = match stage {
            Stage::Fingerprint => Unit::Documents,
            Stage::Join => Unit::Slots,
            Stage::Group | Stage::Memberships | Stage::Cluster => Unit::None,
        };
        self.stage(stage.name(), unit, total);
    }

    fn advance(&self, work: u64) {
        self.add(work, 0);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // A run that fails leaves no bar behind.
        self.stop();
    }
}
