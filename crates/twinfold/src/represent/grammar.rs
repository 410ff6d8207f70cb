//! How a keep rule is written: its parser, and its text.

use std::fmt;
use std::str::FromStr;

use super::{Criterion, DOC_ID, KeepError, KeepRule};

impl fmt::Display for KeepRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, criterion) in self.criteria.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}", Word(&criterion.column))?;
            if let Some(values) = &criterion.values {
                f.write_str("=[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { "," } else { "" }, Word(value))?;
                }
                f.write_str("]")?;
            }
            if criterion.descending {
                f.write_str(" desc")?;
            }
        }
        Ok(())
    }
}

/// A name or value as the grammar wants it.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = matches!(self.0, "asc" | "desc");
        if !self.0.is_empty() && !direction && self.0.chars().all(is_plain) {
            f.write_str(self.0)
        } else {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        }
    }
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ':' | '/')
}

impl FromStr for KeepRule {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, KeepError> {
        let mut parser = Parser {
            characters: text.chars().collect(),
            at: 0,
        };
        let mut criteria: Vec<Criterion> = Vec::new();
        loop {
            let criterion = parser.criterion()?;
            if criteria
                .iter()
                .any(|earlier| earlier.column == criterion.column)
            {
                return Err(KeepError::Repeated {
                    column: criterion.column,
                });
            }
            if criteria.last().is_some_and(|last| last.column == DOC_ID) {
                return Err(KeepError::AfterId);
            }
            criteria.push(criterion);
            parser.skip_space();
            match parser.peek() {
                Some(',') => parser.at += 1,
                None => break,
                Some(other) => return Err(parser.error(format!("expected a comma, not {other:?}"))),
            }
        }
        let ends_in_id = criteria
            .last()
            .is_some_and(|last| last.column == DOC_ID && last.values.is_none());
        if !ends_in_id {
            if criteria.iter().any(|criterion| criterion.column == DOC_ID) {
                // `doc_id=[..]` alone leaves ties among the ids that it does not list.
                return Err(KeepError::Syntax {
                    at: 1,
                    problem: "doc_id takes no list of values".into(),
                });
            }
            criteria.push(Criterion {
                column: DOC_ID.into(),
                values: None,
                descending: false,
            });
        }
        let rule = Self {
            criteria,
            written: true,
        };
        // The default rule, written out, is still the default.
        let default = Self::default();
        Ok(if rule.criteria == default.criteria {
            default
        } else {
            rule
        })
    }
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn error(&self, problem: impl Into<String>) -> KeepError {
        KeepError::Syntax {
            at: self.at + 1,
            problem: problem.into(),
        }
    }

    /// A word, and whether it was quoted.
    fn word(&mut self, what: &str) -> Result<(String, bool), KeepError> {
        self.skip_space();
        if self.peek() != Some('"') {
            let start = self.at;
            while self.peek().is_some_and(is_plain) {
                self.at += 1;
            }
            return match self.characters[start..self.at].iter().collect::<String>() {
                word if word.is_empty() => Err(self.error(format!("expected {what}"))),
                word => Ok((word, false)),
            };
        }
        self.at += 1;
        let mut word = String::new();
        loop {
            match self.peek() {
                None => return Err(self.error("the quote is not closed")),
                Some('"') => {
                    self.at += 1;
                    if self.peek() != Some('"') {
                        return Ok((word, true));
                    }
                    word.push('"');
                }
                Some(other) => word.push(other),
            }
            self.at += 1;
        }
    }

    fn criterion(&mut self) -> Result<Criterion, KeepError> {
        let (column, _) = self.word("a column name")?;
        self.skip_space();
        let mut values = None;
        if self.peek() == Some('=') {
            self.at += 1;
            self.skip_space();
            if self.peek() != Some('[') {
                return Err(self.error("expected a list such as [curated,web]"));
            }
            self.at += 1;
            let mut list = Vec::new();
            loop {
                list.push(self.word("a value")?.0);
                self.skip_space();
                match self.peek() {
                    Some(',') => self.at += 1,
                    Some(']') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.error("expected a comma or ]")),
                }
            }
            values = Some(list);
        }
        self.skip_space();
        let mut descending = false;
        if self.peek().is_some_and(is_plain) {
            let start = self.at;
            match self.word("asc or desc")?.0.as_str() {
                "asc" => {}
                "desc" => descending = true,
                other => {
                    let problem = format!("expected asc, desc or a comma, not {other:?}");
                    return Err(KeepError::Syntax {
                        at: start + 1,
                        problem,
                    });
                }
            }
        }
        Ok(Criterion {
            column,
            values,
            descending,
        })
    }
}

impl From<KeepRule> for String {
    fn from(rule: KeepRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for KeepRule {
    type Error = KeepError;

    fn try_from(text: String) -> Result<Self, KeepError> {
        text.parse()
    }
}
