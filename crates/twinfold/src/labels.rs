//! A column of labels, such as sources or domains, as numbers.

use std::collections::HashMap;

use crate::document::{DocId, Documents, Value};
use crate::outcome::Outcome;

/// The label of each document; a missing one is the empty text.
#[derive(Clone, Debug)]
pub struct Labels {
    names: Vec<String>,
    of: Vec<u32>,
}

/// What became of the documents with one label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelCounts {
    /// The label.
    pub name: String,
    /// The documents.
    pub documents: u64,
    /// Of those, documents without a shingle.
    pub empty: u64,
    /// Of those, removed ones.
    pub removed: u64,
    /// Clusters of two or more that have a member here.
    pub clusters: u64,
}

impl LabelCounts {
    /// The share of the documents that were removed.
    pub fn removed_share(&self) -> f64 {
        if self.documents == 0 {
            0.0
        } else {
            self.removed as f64 / self.documents as f64
        }
    }

    /// Whether more than half of at least two documents were removed, which people want to know.
    pub fn lost_most(&self) -> bool {
        self.documents > 1 && self.removed * 2 > self.documents
    }
}

impl Labels {
    /// The labels in the column `name`, if there is such a column.
    pub fn new(documents: &dyn Documents, name: &str) -> Option<Self> {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut of: Vec<u32> = Vec::with_capacity(documents.len());
        let found = documents.for_each_value(name, &mut |value| {
            let name = match value {
                Value::Null => String::new(),
                Value::Text(text) => text,
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Time(micros) => micros.to_string(),
            };
            let next = numbers.len() as u32;
            of.push(*numbers.entry(name).or_insert(next));
        });
        if !found {
            return None;
        }
        let mut names = vec![String::new(); numbers.len()];
        for (name, number) in numbers {
            names[number as usize] = name;
        }
        Some(Self { names, of })
    }

    /// The label of a document.
    pub fn name(&self, document: DocId) -> &str {
        &self.names[self.of[document.index()] as usize]
    }

    /// The number of a document's label: equal for equal labels.
    pub fn number(&self, document: DocId) -> u32 {
        self.of[document.index()]
    }

    /// The number of each document's label, by rank.
    pub fn numbers(&self) -> &[u32] {
        &self.of
    }

    /// What became of the documents with each label, by label.
    pub fn counts(&self, outcome: &Outcome) -> Vec<LabelCounts> {
        let mut counts: Vec<LabelCounts> = self
            .names
            .iter()
            .map(|name| LabelCounts {
                name: name.clone(),
                ..LabelCounts::default()
            })
            .collect();
        for &label in &self.of {
            counts[label as usize].documents += 1;
        }
        for &document in outcome.sets().empty() {
            counts[self.number(document) as usize].empty += 1;
        }
        for removed in outcome.removed() {
            counts[self.number(removed.document) as usize].removed += 1;
        }
        let mut labels = Vec::new();
        for cluster in outcome
            .clusters()
            .iter()
            .filter(|cluster| cluster.len() > 1)
        {
            labels.clear();
            labels.extend(cluster.iter().map(|&member| self.of[member as usize]));
            labels.sort_unstable();
            labels.dedup();
            for &label in &labels {
                counts[label as usize].clusters += 1;
            }
        }
        counts.sort_by(|a, b| a.name.cmp(&b.name));
        counts
    }
}
