//! A random sample of the documents.
//!
//! A document is in it by the hash of its id, so the same documents are drawn whatever the order of the
//! rows, the files that they come in and the number of threads.
//!
//! Of `n` of `N` documents a pair is in the sample with probability `n (n - 1) / (N (N - 1))`, about
//! `(n / N)^2`, whatever its similarity: so the share of found pairs carries over. Families thin out,
//! though: of most pairs and small families nothing is left.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::document::{DocId, Documents, Value, VisitTexts, Wanted};

/// The `size` documents whose ids have the least hashes under a seed, ascending; all, if there are no
/// more.
///
/// Cost: a hash of each id and a selection.
pub fn sample(documents: &dyn Documents, size: usize, seed: u64) -> Vec<DocId> {
    let all = (0..documents.len() as u32).map(DocId);
    if size >= documents.len() {
        return all.collect();
    }
    let mut hashed: Vec<(u64, DocId)> = all
        .map(|document| {
            let hash = xxh3_64_with_seed(documents.id(document).as_bytes(), seed);
            (hash, document)
        })
        .collect();
    if size > 0 {
        hashed.select_nth_unstable(size - 1);
    }
    let mut drawn: Vec<DocId> = hashed[..size].iter().map(|hashed| hashed.1).collect();
    drawn.sort_unstable();
    drawn
}

/// Some documents of a corpus, as a corpus.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    documents: &'a dyn Documents,
    ranks: &'a [DocId],
}

impl<'a> Selection<'a> {
    /// The documents of these ranks, which ascend.
    pub fn new(documents: &'a dyn Documents, ranks: &'a [DocId]) -> Self {
        Self { documents, ranks }
    }
}

impl std::fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selection")
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}

impl Documents for Selection<'_> {
    fn len(&self) -> usize {
        self.ranks.len()
    }

    fn id(&self, document: DocId) -> &str {
        self.documents.id(self.ranks[document.index()])
    }

    fn for_each_text(&self, wanted: &Wanted<'_>, visit: &VisitTexts<'_>) {
        let here = |document: DocId| {
            let place = self.ranks.binary_search(&document).ok()?;
            Some(DocId(place as u32))
        };
        self.documents
            .for_each_text(&|document| here(document).is_some_and(wanted), &|texts| {
                visit(&mut texts.filter_map(|(document, text)| Some((here(document)?, text))))
            });
    }

    fn title(&self, document: DocId) -> Option<Cow<'_, str>> {
        self.documents.title(self.ranks[document.index()])
    }

    fn column(&self, name: &str) -> Option<Vec<Value>> {
        let mut values = self.documents.column(name)?;
        let picked = self
            .ranks
            .iter()
            .map(|rank| std::mem::replace(&mut values[rank.index()], Value::Null))
            .collect();
        Some(picked)
    }

    fn column_names(&self) -> Vec<String> {
        self.documents.column_names()
    }
}
