//! What the user should know of an input that was read all the same: what was skipped, and what was
//! read as something else.

use super::error::line;

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The output of a run, skipped or read by its kept documents.
    Output,
    /// A file or folder that has two names.
    Twice,
    /// A link that is not followed.
    Link,
    /// A pipe, socket or device.
    Special,
    /// A file without a record: what writes it may have failed.
    Empty,
    /// A column of which the inputs disagree.
    Widened,
}

impl About {
    fn more(self) -> &'static str {
        match self {
            Self::Output => "more outputs of earlier runs were skipped",
            Self::Twice => "more files and folders have two names, too, and are read once",
            Self::Link => "more links are not followed",
            Self::Special => "more pipes, sockets and devices were skipped",
            Self::Empty => "more inputs have no record, too",
            Self::Widened => "more columns are of different types in different inputs, too",
        }
    }
}

/// Notes in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Vec<(About, String)>);

impl Notes {
    pub(super) fn push(&mut self, about: About, text: &str) {
        self.0.push((about, line(text)));
    }

    /// The same, unless it was said already.
    pub(super) fn push_once(&mut self, about: About, text: &str) {
        let text = line(text);
        if !self.0.iter().any(|note| note.1 == text) {
            self.0.push((about, text));
        }
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.0.first().map(|(_, text)| text.as_str())
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The notes as lines. Of each kind the first few stand for the rest, which are counted.
    pub(super) fn lines(&self) -> Vec<String> {
        const SHOWN: usize = 5;
        let mut lines = Vec::new();
        let mut kinds: Vec<About> = Vec::new();
        for &(about, _) in &self.0 {
            if kinds.contains(&about) {
                continue;
            }
            kinds.push(about);
            let all = || self.0.iter().filter(|note| note.0 == about);
            lines.extend(all().take(SHOWN).map(|(_, text)| text.clone()));
            let rest = all().count().saturating_sub(SHOWN);
            if rest > 0 {
                lines.push(format!("{rest} {}", about.more()));
            }
        }
        lines
    }
}
