//! Documents as the library sees them: ranked by id, with columns to order and block by.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::error::Error;

/// The rank of a document in the order of the ids' bytes: the name of a document inside a run.
///
/// Ranks make every result independent of the order in which rows arrived, and the smallest rank
/// of a cluster is the smallest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u32);

impl DocId {
    /// The rank as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing there.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// An instant, in microseconds since 1970 UTC.
    Time(i64),
}

/// Whether a document is one that a caller wants.
pub type Wanted<'a> = dyn Fn(DocId) -> bool + Sync + 'a;

/// Some documents with their texts.
pub type Texts<'a> = dyn Iterator<Item = (DocId, &'a str)> + 'a;

/// Is shown texts, from many threads.
pub type VisitTexts<'a> = dyn Fn(&mut Texts<'_>) + Sync + 'a;

/// A corpus in the order of its ids. Sources of documents implement it; [`Corpus`] is the one that
/// lives in memory.
pub trait Documents: Sync {
    /// The number of documents.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a document. Ids are unique, and ascend with the rank.
    fn id(&self, document: DocId) -> &str;

    /// Visits the text of each `wanted` document once, some documents at a time, each such group on
    /// one thread of the current pool. How documents are grouped, and which group is visited when, may
    /// differ from call to call.
    fn for_each_text(&self, wanted: &Wanted<'_>, visit: &VisitTexts<'_>);

    /// The title of a document, where it has one.
    fn title(&self, document: DocId) -> Option<Cow<'_, str>>;

    /// The values of a column in rank order, if there is such a column. The names `source`,
    /// `domain`, `crawled_at` and `title` mean whatever column has that part.
    fn column(&self, name: &str) -> Option<Vec<Value>>;

    /// Shows the values of a column in rank order, one at a time; false if there is no such column.
    /// Sources that need not hold all values at once for that should say so.
    fn for_each_value(&self, name: &str, visit: &mut dyn FnMut(Value)) -> bool {
        let values = self.column(name);
        let found = values.is_some();
        values.into_iter().flatten().for_each(visit);
        found
    }

    /// The names of the columns there are.
    fn column_names(&self) -> Vec<String>;
}

/// [`Documents::for_each_text`] of `count` documents whose texts are at hand.
pub fn in_groups<'a>(
    count: usize,
    wanted: &Wanted<'_>,
    visit: &VisitTexts<'_>,
    text: &(dyn Fn(DocId) -> &'a str + Sync),
) {
    /// Documents of a group.
    const GROUP: usize = 256;
    (0..count.div_ceil(GROUP))
        .into_par_iter()
        .for_each(|group| {
            let ranks = group * GROUP..count.min((group + 1) * GROUP);
            let mut texts = ranks
                .map(|rank| DocId(rank as u32))
                .filter(|&document| wanted(document))
                .map(|document| (document, text(document)))
                .peekable();
            if texts.peek().is_some() {
                visit(&mut texts);
            }
        });
}

/// A document to be put into a [`Corpus`].
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The id, unique in the corpus.
    pub id: String,
    /// The text.
    pub text: String,
    /// Other columns by name; `title`, `source`, `domain` and `crawled_at` have a meaning.
    pub columns: BTreeMap<String, String>,
}

impl Document {
    /// A document without further columns.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            columns: BTreeMap::new(),
        }
    }

    /// The same document with one more column.
    pub fn with(mut self, column: impl Into<String>, value: impl Into<String>) -> Self {
        self.columns.insert(column.into(), value.into());
        self
    }
}

/// Documents in memory, ordered by id.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    documents: Vec<Document>,
}

impl Corpus {
    /// Orders `documents` by id.
    ///
    /// # Errors
    /// If two of them have the same id, or there are more than an index of 32 bits can name.
    pub fn new(mut documents: Vec<Document>) -> Result<Self, Error> {
        if documents.len() >= u32::MAX as usize {
            return Err(Error::TooManyDocuments {
                documents: documents.len() as u64,
            });
        }
        documents.sort_by(|a, b| a.id.cmp(&b.id));
        match documents.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some(pair) => Err(Error::DuplicateId {
                id: pair[0].id.clone(),
            }),
            None => Ok(Self { documents }),
        }
    }

    /// The documents in rank order.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The text of a document.
    pub fn text(&self, document: DocId) -> &str {
        &self.documents[document.index()].text
    }
}

impl Documents for Corpus {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn id(&self, document: DocId) -> &str {
        &self.documents[document.index()].id
    }

    fn for_each_text(&self, wanted: &Wanted<'_>, visit: &VisitTexts<'_>) {
        in_groups(self.len(), wanted, visit, &|document| self.text(document));
    }

    fn title(&self, document: DocId) -> Option<Cow<'_, str>> {
        self.documents[document.index()]
            .columns
            .get("title")
            .map(|t| t.as_str().into())
    }

    fn column(&self, name: &str) -> Option<Vec<Value>> {
        self.documents
            .iter()
            .any(|d| d.columns.contains_key(name))
            .then(|| {
                self.documents
                    .iter()
                    .map(|document| match document.columns.get(name) {
                        Some(text) => Value::Text(text.clone()),
                        None => Value::Null,
                    })
                    .collect()
            })
    }

    fn column_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .documents
            .iter()
            .flat_map(|d| d.columns.keys().cloned())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
