//! All documents of a run, in the order of their ids.
//!
//! Guarantee: rank `r` is the document with the `r`-th smallest id by bytes; every input column can be
//! had for any documents in its final type. Cost: the columns are held once, as they were decoded; a
//! document adds 8 bytes for its place in the order.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use twinfold::document::{VisitTexts, Wanted, in_groups};
use twinfold::{Storage, Store};

use super::batch::Batch;
use super::columns::{ROLES, Role};
use super::error::line;
use super::gather::{Gatherer, What};
use super::ids;
use super::list::STDIN;
use super::notes::About;
use super::rows::Rows;
use super::spill::{self, Shelf};
use super::state::{Reader, Writer};
use super::summary::Summary;
use super::{Format, Input, Place, Rejected, SourceError};

/// The documents of all inputs, ordered by the bytes of their id.
#[derive(Debug)]
pub struct Table {
    rows: Rows,
    /// The name and format of each file.
    files: Vec<(String, Format)>,
    notes: Vec<String>,
    chosen: [Option<String>; ROLES.len()],
    rejected: Vec<Rejected>,
    hashes: Vec<FileHash>,
}

/// An input file as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileHash {
    /// Its name.
    pub name: String,
    /// Its size as it lies on disk.
    pub bytes: u64,
    /// SHA-256 of it as it lies on disk, in hexadecimal.
    pub sha256: String,
    /// The documents in it.
    pub documents: u64,
    /// The records in it that were rejected.
    pub rejected: u64,
}

/// The file by its name and size, on one line.
impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.name.as_str() {
            STDIN => "standard input",
            name => &line(name),
        };
        match self.bytes {
            1 => write!(f, "{name} (1 byte)"),
            bytes => write!(f, "{name} ({bytes} bytes)"),
        }
    }
}

/// What is known of the inputs as a whole, as a saved table begins.
#[derive(serde::Serialize, serde::Deserialize)]
struct Header {
    files: Vec<(String, String)>,
    notes: Vec<String>,
    chosen: Vec<Option<String>>,
    /// The file, whether its records are counted by lines, the line or row, and the reason.
    rejected: Vec<(String, bool, u64, String)>,
    hashes: Vec<FileHash>,
}

/// A value of a column, for rules that compare documents.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// No value.
    Null,
    /// An integer.
    Integer(i64),
    /// A float, or a number that no 64-bit integer holds.
    Float(f64),
    /// A string; anything else as text.
    Text(String),
    /// A date or time, in microseconds since 1970 (UTC where it has a zone).
    Time(i64),
}

impl Table {
    pub(super) fn new(
        pool: &rayon::ThreadPool,
        input: &Input,
        files: Vec<Summary>,
        batches: Vec<Batch>,
        rejected: Vec<Rejected>,
        hashes: Vec<FileHash>,
        shelf: Option<Shelf>,
    ) -> Result<Self, SourceError> {
        let mut chosen = ROLES.map(|role| {
            files
                .iter()
                .find_map(|file| file.chosen[role as usize].clone())
        });
        let ids = pool.install(|| ids::assign(input, &batches))?;
        let made = ids.made.then(|| {
            let usual = || input.columns.wanted(Role::Id)[0].to_string();
            chosen[Role::Id as usize].get_or_insert_with(usual).clone()
        });
        let (rows, widened) =
            pool.install(|| Rows::new(&input.files, &files, batches, ids, made, shelf))?;
        let mut notes = input.notes.clone();
        for file in &hashes {
            if file.documents + file.rejected == 0 {
                notes.push(About::Empty, &format!("there is no record in {file}"));
            }
        }
        notes.extend(widened);
        let files = input.files.iter();
        Ok(Self {
            rows,
            files: files.map(|file| (file.name.clone(), file.format)).collect(),
            notes: notes.lines(),
            chosen,
            rejected,
            hashes,
        })
    }

    /// How many documents.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the user should know of the inputs, a line each: what was skipped, which files have no
    /// record, and what was read as something else. The same for the same inputs.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Records read: documents and rejected ones.
    pub fn read(&self) -> u64 {
        self.len() as u64 + self.rejected.len() as u64
    }

    /// The id of a document.
    pub fn id(&self, rank: usize) -> &str {
        self.rows.id(rank)
    }

    /// The text of a document; empty where it is null. Where documents are not held, this reads a
    /// whole batch: [`twinfold::Documents::for_each_text`] is for many.
    pub fn text(&self, rank: usize) -> Cow<'_, str> {
        if let Some(text) = self.rows.held_text(rank) {
            return Cow::Borrowed(text);
        }
        let (batch, row) = self.rows.document(rank);
        let Ok(columns) = self.rows.load(batch, What::Texts) else {
            return Cow::default();
        };
        let texts = columns[0].as_ref().map(|texts| texts.as_string_view());
        let text = texts.filter(|texts| texts.is_valid(row));
        Cow::Owned(text.map_or_else(String::new, |texts| texts.value(row).to_owned()))
    }

    /// The bytes of its text.
    pub fn text_bytes(&self, rank: usize) -> usize {
        self.rows.text_bytes(rank)
    }

    /// Its title.
    pub fn title(&self, rank: usize) -> Option<&str> {
        self.rows.role(Role::Title, rank)
    }

    /// Its source.
    pub fn source(&self, rank: usize) -> Option<&str> {
        self.rows.role(Role::Source, rank)
    }

    /// Its domain.
    pub fn domain(&self, rank: usize) -> Option<&str> {
        self.rows.role(Role::Domain, rank)
    }

    /// Its date as text: strings as they are, dates and times in ISO 8601.
    pub fn date(&self, rank: usize) -> Option<&str> {
        self.rows.role(Role::Date, rank)
    }

    /// Whether some file has a title column.
    pub fn has_title(&self) -> bool {
        self.chosen[Role::Title as usize].is_some()
    }

    /// Whether some file has a source column.
    pub fn has_source(&self) -> bool {
        self.chosen[Role::Source as usize].is_some()
    }

    /// Whether some file has a domain column.
    pub fn has_domain(&self) -> bool {
        self.chosen[Role::Domain as usize].is_some()
    }

    /// Whether some file has a date column.
    pub fn has_date(&self) -> bool {
        self.chosen[Role::Date as usize].is_some()
    }

    /// The name of the id column; of the first file that has one, if they differ.
    pub fn id_column(&self) -> Option<&str> {
        self.chosen[Role::Id as usize].as_deref()
    }

    /// The name of the text column; of the first file that has one, if they differ.
    pub fn text_column(&self) -> Option<&str> {
        self.chosen[Role::Text as usize].as_deref()
    }

    /// The name of the title column; of the first file that has one, if they differ.
    pub fn title_column(&self) -> Option<&str> {
        self.chosen[Role::Title as usize].as_deref()
    }

    /// The name of the source column; of the first file that has one, if they differ.
    pub fn source_column(&self) -> Option<&str> {
        self.chosen[Role::Source as usize].as_deref()
    }

    /// The name of the domain column; of the first file that has one, if they differ.
    pub fn domain_column(&self) -> Option<&str> {
        self.chosen[Role::Domain as usize].as_deref()
    }

    /// The name of the date column; of the first file that has one, if they differ.
    pub fn date_column(&self) -> Option<&str> {
        self.chosen[Role::Date as usize].as_deref()
    }

    /// Where the document was decoded: the index of its batch among the results of
    /// [`Input::read`], and its row in that batch.
    pub fn origin(&self, rank: usize) -> (usize, usize) {
        self.rows.document(rank)
    }

    /// The file of a document and its place in it.
    pub fn place(&self, rank: usize) -> (&str, Place) {
        let (file, number) = self.rows.place(rank);
        let (name, format) = &self.files[file];
        let place = match format {
            Format::Parquet => Place::Row(number),
            _ => Place::Line(number),
        };
        (name, place)
    }

    /// The records that could not be used, by file and place.
    pub fn rejected(&self) -> &[Rejected] {
        &self.rejected
    }

    /// The input files as they were read, in their order.
    pub fn file_hashes(&self) -> &[FileHash] {
        &self.hashes
    }

    /// The columns of all files together, with their final types. With made ids, the id column holds
    /// them as strings, and stands first if no file has one.
    pub fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// The names of the columns.
    pub fn column_names(&self) -> Vec<String> {
        self.schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The values of a column for all documents in their order; `None` when there is no such column
    /// (or, which only damaged input can bring about, its values can't be told).
    pub fn column_values(&self, name: &str) -> Option<Vec<ColumnValue>> {
        self.rows.values(name)
    }

    /// The bytes of memory that ids take, and what else stays of documents that are in a storage.
    pub fn kept_bytes(&self) -> u64 {
        self.rows.kept_bytes()
    }

    /// Whether the documents are in a storage, since memory had no room for them.
    pub fn is_spilled(&self) -> bool {
        self.rows.spilled()
    }

    /// An error if documents could not be kept or read back. What was made of the texts and columns
    /// of a table is worth nothing then.
    pub fn check_storage(&self) -> Result<(), SourceError> {
        self.rows.check_storage()
    }

    #[cfg(test)]
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The name of the store that documents are in, where they are in a storage.
    pub const STORE: &str = spill::DOCUMENTS;

    /// All that a later process needs, with the store named [`Table::STORE`], to have this table without
    /// its inputs; `None` if its documents are in memory.
    pub fn save(&self) -> Option<Vec<u8>> {
        let header = Header {
            files: self
                .files
                .iter()
                .map(|(name, format)| (name.clone(), format.to_string()))
                .collect(),
            notes: self.notes.clone(),
            chosen: self.chosen.to_vec(),
            rejected: self
                .rejected
                .iter()
                .map(|record| {
                    let (line, number) = match record.place {
                        Place::Line(line) => (true, line),
                        Place::Row(row) => (false, row),
                    };
                    (record.file.clone(), line, number, record.reason.clone())
                })
                .collect(),
            hashes: self.hashes.clone(),
        };
        let mut to = Writer::new();
        to.bytes(&serde_json::to_vec(&header).ok()?);
        self.rows.save(&mut to).then(|| to.into_bytes())
    }

    /// The table that was saved, whose documents are in `store`, which belongs to `storage`; `None` if
    /// the bytes are of none.
    pub fn restore(state: &[u8], storage: Arc<dyn Storage>, store: Arc<dyn Store>) -> Option<Self> {
        let mut from = Reader::new(state)?;
        let header: Header = serde_json::from_slice(from.bytes()?).ok()?;
        let files: Vec<(String, Format)> = header
            .files
            .into_iter()
            .map(|(name, format)| Some((name, format.parse().ok()?)))
            .collect::<Option<_>>()?;
        let rows = Rows::restore(&mut from, files.len(), Shelf::of(storage, store))?;
        let rejected = header.rejected.into_iter();
        from.is_at_end().then_some(Self {
            rows,
            files,
            notes: header.notes,
            chosen: header.chosen.try_into().ok()?,
            rejected: rejected
                .map(|(file, line, number, reason)| Rejected {
                    file,
                    place: match line {
                        true => Place::Line(number),
                        false => Place::Row(number),
                    },
                    reason,
                })
                .collect(),
            hashes: header.hashes,
        })
    }

    /// Visits texts, as [`twinfold::Documents::for_each_text`] does.
    pub(crate) fn visit_texts(&self, wanted: &Wanted<'_>, visit: &VisitTexts<'_>) {
        if self.is_spilled() {
            return self.rows.for_each_spilled_text(wanted, visit);
        }
        in_groups(self.len(), wanted, visit, &|document| {
            self.rows.held_text(document.index()).unwrap_or("")
        });
    }

    /// The documents of `groups` of runs, in their order, which is ascending by rank, and within
    /// `budget` bytes. `name` is that of a store that may be needed.
    pub(crate) fn gatherer<'a>(
        &'a self,
        what: What,
        groups: &[&[&'a [u32]]],
        budget: u64,
        name: &str,
    ) -> Result<Gatherer<'a>, SourceError> {
        Gatherer::new(&self.rows, what, groups, budget, name)
    }

    /// Every input column of these documents, in the order given.
    pub fn gather(&self, ranks: &[u32]) -> Result<RecordBatch, SourceError> {
        self.rows.gather(ranks)
    }
}
