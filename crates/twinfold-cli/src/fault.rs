//! What the user is told when a run cannot go on, and the exit codes.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// The input, the configuration or the machine is at fault: one line, a hint, exit code 2.
#[derive(Debug)]
pub(crate) struct Fault {
    message: String,
    hint: Option<String>,
}

/// The exit code of a fault that the user can mend. A bug exits with 101.
pub(crate) const USER_FAULT: u8 = 2;

impl Fault {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self {
            message: one_line(&message.to_string()),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds to the hint.
    pub(crate) fn also(mut self, more: String) -> Self {
        self.hint = Some(match self.hint {
            None => more,
            Some(hint) => format!("{hint}; {more}"),
        });
        self
    }

    fn with(message: impl fmt::Display, hint: Option<String>) -> Self {
        Self {
            message: one_line(&message.to_string()),
            hint,
        }
    }

    /// Says it on standard error.
    pub(crate) fn report(&self) -> ExitCode {
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "error: {}", self.message);
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "hint: {hint}");
        }
        ExitCode::from(USER_FAULT)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

fn one_line(text: &str) -> String {
    text.replace('\r', "\\r").replace('\n', "\\n")
}

impl From<twinfold::Error> for Fault {
    fn from(error: twinfold::Error) -> Self {
        Self::with(&error, error.hint())
    }
}

impl From<twinfold::config::ConfigError> for Fault {
    fn from(error: twinfold::config::ConfigError) -> Self {
        Self::with(&error, error.hint())
    }
}

impl From<twinfold_io::source::SourceError> for Fault {
    fn from(error: twinfold_io::source::SourceError) -> Self {
        Self::with(Chain(&error), error.hint())
    }
}

impl From<twinfold_io::publish::PublishError> for Fault {
    fn from(error: twinfold_io::publish::PublishError) -> Self {
        Self::with(&error, error.hint())
    }
}

impl From<&twinfold_io::work::WorkError> for Fault {
    fn from(error: &twinfold_io::work::WorkError) -> Self {
        Self::with(error, error.hint())
    }
}

/// An error and what caused it, as far as that says more.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !said.contains(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
            cause = error.source();
        }
        Ok(())
    }
}
