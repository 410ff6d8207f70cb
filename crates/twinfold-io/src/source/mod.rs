//! Reads CSV, Parquet and JSON Lines into one [`Table`] of documents.
//!
//! The story: [`Input::open`] turns names into files (`list`), with `notes` on what it skipped;
//! [`Input::read`] cuts them into units and lets every thread of the pool fetch and decode (`read`):
//! text files as `chunks` of whole records through `compress`, which `csv` and `jsonl` parse, and
//! `parquet` by row groups. Each decoder hands out a [`Batch`]: the documents, and every other column under the user's own name. At
//! the end `schema` finds one type for each column over all files, `ids` checks or makes the ids and
//! orders the documents by them, and `table` answers questions.
//!
//! Guarantees:
//! * The same documents give the same table, however the rows are ordered and cut into files, and
//!   whatever the number of threads. Of several errors, the first by file and place is reported; what
//!   the footers of Parquet files tell comes before what is in the files.
//! * A bad record never stops the run: it is set aside with its place and reason, and
//!   `Table::read() == Table::len() + Table::rejected().len()`. A bad file always does.
//! * Nothing is interpreted that wasn't asked for: CSV columns are text, and `NA`, `null` and `""` in
//!   them stay what they are.
//!
//! Cost: one pass over each text file and two over a Parquet file (the second for its hash); memory is
//! one copy of the columns, plus about a chunk of 1 MiB for each thread. With a [`Spill`] the columns go
//! to a storage where they are more than a limit (`spill`), and come back in the order of the ids
//! (`gather`); a [`Table`] in a storage can be saved and had again without its inputs (`state`).

mod batch;
mod chunks;
mod columns;
mod compress;
mod csv;
mod dialect;
mod error;
mod footer;
mod gather;
mod ids;
mod jsonl;
mod list;
mod literals;
mod notes;
mod parquet;
mod read;
mod rows;
mod schema;
mod shape;
mod spill;
mod state;
mod summary;
mod table;
mod texts;
mod unit;
mod values;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::ser::{Serialize, SerializeStruct, Serializer};

pub use batch::Batch;
pub use columns::ColumnNames;
pub use compress::Compression;
pub use compress::sha256;
use dialect::Dialect;
pub use dialect::{Delimiter, Quotes, UnknownDelimiter, UnknownQuotes};
pub use error::SourceError;
pub use footer::is_decoding;
pub(crate) use gather::What;
pub use spill::Spill;
pub use table::{ColumnValue, FileHash, Table};

/// Most rows of a [`Batch`].
pub(crate) const BATCH_ROWS: usize = 8192;
/// Most bytes of text in a [`Batch`], unless a single document has more.
pub(crate) const BATCH_BYTES: usize = 16 << 20;

/// The format of an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header line (tab-separated when the name ends in `.tsv`), or
    /// separated by [`SourceOptions::delimiter`].
    Csv,
    /// Apache Parquet.
    Parquet,
    /// A JSON object on each line.
    JsonLines,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        match text {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            "jsonl" => Ok(Self::JsonLines),
            _ => Err(UnknownFormat(text.to_string())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::JsonLines => "jsonl",
        })
    }
}

/// A name that is no [`Format`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format; the formats are csv, parquet and jsonl")]
pub struct UnknownFormat(pub String);

/// What to read, and how.
#[derive(Clone, Debug, Default)]
pub struct SourceOptions {
    /// Files, folders (with all below them), patterns (`data/*.parquet`), or `-` for standard input.
    /// The output folder of an earlier run stands for the documents that it kept; inside another
    /// folder it is skipped.
    pub inputs: Vec<String>,
    /// The format of all of them. Default: each by the ending of its name; standard input as JSON Lines.
    pub format: Option<Format>,
    /// Which columns hold what.
    pub columns: ColumnNames,
    /// Whether to make ids where they are missing or repeated, instead of refusing. Default: no.
    pub make_ids: bool,
    /// What stands between the fields of every CSV file. Default: a comma, or a tab where the name
    /// ends in `.tsv`; a first line such as `sep=;` says otherwise.
    pub delimiter: Option<Delimiter>,
    /// What quotes mean in CSV files. Default: [`Quotes::Auto`].
    pub quotes: Quotes,
    /// The folder that the run will write to: where it lies in an input folder, it is not read.
    pub output: Option<PathBuf>,
}

/// One file to be read.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Where it is; `None` is standard input.
    pub path: Option<PathBuf>,
    /// Its name as given, or as found in the folder given.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// How it is compressed as a whole; of a stream that is only known when it is read.
    pub compression: Compression,
    /// Its size as it lies on disk; 0 for a stream.
    pub bytes: u64,
    /// How it is written, if it is CSV.
    pub(crate) dialect: Dialect,
    /// Whether it is a regular file, not a pipe.
    pub(crate) regular: bool,
}

/// The files to be read.
#[derive(Clone, Debug)]
pub struct Input {
    files: Vec<InputFile>,
    notes: notes::Notes,
    columns: ColumnNames,
    make_ids: bool,
}

impl Input {
    /// Finds the files. What is in them is looked at by [`Input::read`].
    pub fn open(options: SourceOptions) -> Result<Self, SourceError> {
        let mut found = list::expand(&options.inputs, options.format, options.output.as_deref())?;
        for file in &mut found.files {
            file.dialect = file.dialect.with(options.delimiter, options.quotes);
        }
        if found.files.iter().all(|file| file.format != Format::Csv) {
            let option = match (options.delimiter, options.quotes) {
                (Some(_), _) => Some("delimiter"),
                (None, Quotes::Auto) => None,
                (None, _) => Some("quote"),
            };
            if let Some(option) = option {
                return Err(SourceError::NoCsv { option });
            }
        }
        Ok(Self {
            files: found.files,
            notes: found.notes,
            columns: options.columns,
            make_ids: options.make_ids,
        })
    }

    /// The files, in the order of the inputs and sorted within a folder or pattern.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// The bytes of all files as they lie on disk.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Reads everything on the threads of `pool`. `work` sees each batch once, on the thread that
    /// decoded it; its results come back in the order of [`Table::origin`]. Standard input can be
    /// read only once. `spill` says what to do when there is more than may be held.
    pub fn read<T: Send>(
        &self,
        pool: &rayon::ThreadPool,
        progress: &(dyn Fn(ReadProgress) + Sync),
        work: &(dyn Fn(&Batch) -> T + Sync),
        spill: Option<&Spill<'_, T>>,
    ) -> Result<(Table, Vec<T>), SourceError> {
        read::run(self, pool, progress, work, spill)
    }
}

/// What was read since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// Records, rejected ones included.
    pub documents: u64,
    /// Bytes of the files as they lie on disk.
    pub bytes: u64,
}

/// Where a record stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The line on which it begins, from 1 (CSV, JSON Lines).
    Line(u64),
    /// Its row, from 1 (Parquet).
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// A record that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejected {
    /// The file it is in.
    pub file: String,
    /// Where.
    pub place: Place,
    /// Why, in one line.
    pub reason: String,
}

impl Serialize for Rejected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Rejected", 3)?;
        fields.serialize_field("file", &self.file)?;
        match self.place {
            Place::Line(line) => fields.serialize_field("line", &line)?,
            Place::Row(row) => fields.serialize_field("row", &row)?,
        }
        fields.serialize_field("reason", &self.reason)?;
        fields.end()
    }
}
