//! The keep rule: a total order over documents, whose least member of a cluster is kept.
//!
//! `crawled_at desc, token_count desc, doc_id` is the default. A rule is a list of criteria, the
//! first being the most important:
//!
//! ```text
//! rule      = criterion { "," criterion }
//! criterion = column [ "=" "[" value { "," value } "]" ] [ "asc" | "desc" ]
//! ```
//!
//! `source=[curated,web]` puts `curated` first, then `web`, then everything else. Columns and
//! values that hold other characters than letters, digits, `_`, `-`, `.`, `:` and `/` stand in
//! double quotes, in which a quote is doubled. `token_count` and `doc_id` are always there. Every
//! rule ends in `doc_id`, which is added where it was not written, so no tie is left to chance.
//!
//! A column of numbers is ordered as numbers, one of dates as dates, any other by its bytes; the
//! dates' column `crawled_at` is always one of dates. What is missing, or no date among dates,
//! sorts last whatever the direction, and is counted.

mod grammar;
mod keys;
mod time;

use serde::{Deserialize, Serialize};

use crate::document::{DocId, Documents, Value};
use crate::sets::ShingleSets;

pub use time::parse_time;

/// A keep rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KeepRule {
    criteria: Vec<Criterion>,
    /// Whether a column that is not there is an error: not in the default rule.
    written: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Criterion {
    column: String,
    values: Option<Vec<String>>,
    descending: bool,
}

/// Why a keep rule was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The rule does not follow the grammar.
    #[error("the keep rule cannot be read at character {at}: {problem}")]
    Syntax {
        /// The 1-based character.
        at: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A column twice.
    #[error("the keep rule names {column:?} twice")]
    Repeated {
        /// The column.
        column: String,
    },
    /// Something after `doc_id`, which decides everything.
    #[error("the keep rule goes on after doc_id, which leaves no ties to break")]
    AfterId,
    /// A column that the documents do not have.
    #[error("the keep rule names the column {column:?}, which is not there; there are: {}", present.join(", "))]
    NoColumn {
        /// The column.
        column: String,
        /// The columns there are.
        present: Vec<String>,
    },
}

impl KeepError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Syntax { .. } => Some(
                "write it like: source=[curated,web], crawled_at desc, token_count desc, doc_id"
                    .into(),
            ),
            Self::Repeated { .. } => Some("name each column once".into()),
            Self::AfterId => Some("put doc_id last".into()),
            Self::NoColumn { column, present } => {
                nearest(column, present).map(|name| format!("did you mean {name:?}?"))
            }
        }
    }
}

/// The name that looks most like `wanted`, if one does.
pub fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    names
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.as_str())
}

const TOKEN_COUNT: &str = "token_count";
const DOC_ID: &str = "doc_id";
const CRAWLED_AT: &str = "crawled_at";

impl Default for KeepRule {
    fn default() -> Self {
        let criterion = |column: &str, descending| Criterion {
            column: column.into(),
            values: None,
            descending,
        };
        Self {
            criteria: vec![
                criterion(CRAWLED_AT, true),
                criterion(TOKEN_COUNT, true),
                criterion(DOC_ID, false),
            ],
            written: false,
        }
    }
}

/// Documents without a usable date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DateCounts {
    /// Documents without a date.
    pub missing: u64,
    /// Documents with something that is no date.
    pub unreadable: u64,
}

/// The documents in the order of a keep rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepOrder {
    /// For each document its place in the order; the least of a cluster is kept.
    pub(crate) places: Vec<u32>,
    /// Documents that a date sorts last, where the rule goes by dates.
    pub dates: Option<DateCounts>,
}

impl KeepOrder {
    /// The document of `members` that is kept.
    pub fn best(&self, members: &[u32]) -> DocId {
        let best = members
            .iter()
            .min_by_key(|&&member| self.places[member as usize]);
        DocId(*best.expect("a cluster has a member"))
    }
}

impl KeepRule {
    /// Orders all documents.
    ///
    /// # Errors
    /// If the rule names a column that is not there, unless it is the default rule.
    pub fn order(
        &self,
        documents: &dyn Documents,
        sets: &ShingleSets,
    ) -> Result<KeepOrder, KeepError> {
        let mut dates = None;
        let mut keys: Vec<Vec<u64>> = Vec::new();
        let mut id_descending = false;
        for criterion in &self.criteria {
            if criterion.column == DOC_ID {
                id_descending = criterion.descending;
                continue;
            }
            let ranks = (0..documents.len() as u32).map(DocId);
            let values = if criterion.column == TOKEN_COUNT {
                Some(
                    ranks
                        .map(|d| Value::Integer(sets.token_count(d) as i64))
                        .collect(),
                )
            } else {
                documents.column(&criterion.column)
            };
            let values = match values {
                Some(values) => values,
                None if !self.written || documents.is_empty() => continue,
                None => {
                    return Err(KeepError::NoColumn {
                        column: criterion.column.clone(),
                        present: documents.column_names(),
                    });
                }
            };
            keys.push(criterion.keys(&values, &mut dates));
        }
        let mut order: Vec<u32> = (0..documents.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            keys.iter()
                .map(|key| key[a as usize].cmp(&key[b as usize]))
                .find(|order| order.is_ne())
                .unwrap_or_else(|| if id_descending { b.cmp(&a) } else { a.cmp(&b) })
        });
        let mut places = vec![0; order.len()];
        for (place, &document) in (0u32..).zip(&order) {
            places[document as usize] = place;
        }
        Ok(KeepOrder { places, dates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::document::{Corpus, Document};
    use crate::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
    use proptest::prelude::*;

    fn rule(text: &str) -> KeepRule {
        text.parse().unwrap()
    }

    fn order(
        rule: &KeepRule,
        documents: Vec<Document>,
    ) -> Result<(Vec<String>, KeepOrder), KeepError> {
        let corpus = Corpus::new(documents).unwrap();
        let mut batch = FingerprintBatch::default();
        let mut fingerprinter = Fingerprinter::new(&Config::default());
        for document in corpus.documents() {
            fingerprinter.push(&document.text, &SeenTexts::new(), &mut batch);
        }
        let sets = ShingleSets::new(&Config::default(), vec![batch], corpus.len(), |d| {
            (0, d.index())
        });
        let order = rule.order(&corpus, &sets)?;
        let mut ids: Vec<(u32, String)> = (0..corpus.len() as u32)
            .map(|d| (order.places[d as usize], corpus.id(DocId(d)).to_owned()))
            .collect();
        ids.sort();
        Ok((ids.into_iter().map(|(_, id)| id).collect(), order))
    }

    #[test]
    fn the_default_is_newest_longest_smallest() {
        let at =
            |id: &str, date: &str, text: &str| Document::new(id, text).with("crawled_at", date);
        let (ids, order) = order(
            &KeepRule::default(),
            vec![
                at("e", "", "a b c"),
                at("d", "not a date", "a b c d"),
                at("b", "2026-06-12", "a b"),
                at("a", "2026-06-12", "a b"),
                at("c", "2026-06-12T01:00:00Z", "a"),
                at("f", "2026-06-12", "a b c"),
            ],
        )
        .unwrap();
        assert_eq!(ids, ["c", "f", "a", "b", "d", "e"]);
        assert_eq!(
            order.dates,
            Some(DateCounts {
                missing: 1,
                unreadable: 1
            })
        );
    }

    #[test]
    fn value_lists_numbers_and_directions() {
        let doc = |id: &str, source: &str, score: &str| {
            Document::new(id, "x")
                .with("source", source)
                .with("score", score)
        };
        let documents = vec![
            doc("a", "other", "10"),
            doc("b", "web", "9"),
            doc("c", "web", "10"),
            doc("d", "curated", "-1"),
            doc("e", "", ""),
        ];
        let by = |text: &str| order(&rule(text), documents.clone()).unwrap().0.concat();
        assert_eq!(by("source=[curated,web], score desc"), "dcbae");
        assert_eq!(by("score"), "dbace");
        assert_eq!(by("score desc"), "acbde");
        assert_eq!(by("doc_id desc"), "edcba");
        assert_eq!(by("source desc, doc_id desc"), "cbade");
    }

    #[test]
    fn a_column_that_is_not_there() {
        let error = order(
            &rule("sorce, doc_id"),
            vec![Document::new("a", "x").with("source", "y")],
        );
        let error = error.unwrap_err();
        assert!(matches!(&error, KeepError::NoColumn { .. }));
        assert_eq!(error.hint().as_deref(), Some("did you mean \"source\"?"));
        assert!(order(&KeepRule::default(), vec![Document::new("a", "x")]).is_ok());
    }

    #[test]
    fn syntax_errors_name_the_place() {
        for (text, at) in [
            ("", 1),
            ("a b", 3),
            ("a,,b", 3),
            ("a=[", 4),
            ("a=[x", 5),
            ("a=x", 3),
            ("\"a", 3),
            ("a desc x", 8),
        ] {
            match text.parse::<KeepRule>() {
                Err(KeepError::Syntax { at: found, .. }) => assert_eq!(found, at, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
        assert_eq!(
            "a, a".parse::<KeepRule>(),
            Err(KeepError::Repeated { column: "a".into() })
        );
        assert_eq!("doc_id, a".parse::<KeepRule>(), Err(KeepError::AfterId));
    }

    #[test]
    fn a_rule_always_ends_in_the_id() {
        assert_eq!(
            rule("token_count desc").to_string(),
            "token_count desc, doc_id"
        );
        assert_eq!(
            rule("\"odd \"\"name\" , x=[\"a b\",c]").to_string(),
            "\"odd \"\"name\", x=[\"a b\",c], doc_id"
        );
        assert_eq!(rule(&KeepRule::default().to_string()), KeepRule::default());
    }

    proptest! {
        #[test]
        fn arbitrary_rules_never_panic_and_read_back(text in "[a-c\"=\\[\\], desc]{0,24}") {
            if let Ok(rule) = text.parse::<KeepRule>() {
                prop_assert_eq!(rule.to_string().parse::<KeepRule>(), Ok(rule));
            }
        }

        #[test]
        fn any_text_never_panics(text in any::<String>()) {
            let _ = text.parse::<KeepRule>();
            let _ = parse_time(&text);
        }
    }
}
