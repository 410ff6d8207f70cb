//! What can go wrong with an input, and what the user can do about it.
//!
//! Guarantee: every variant names the file (and the place in it, where there is one), its message is
//! one line whatever the file is called, and the library's own error stays attached as the source.

use std::io;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

use super::{Compression, Delimiter, Place};

/// An input that can't be used as it is. Bad *records* are not errors: see [`Rejected`](super::Rejected).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No input was named.
    #[error("no input was named")]
    NoInputs,
    /// A path that isn't there.
    #[error("{}: there is no such file, folder or match", line(.path))]
    NotFound {
        /// The path or pattern as given.
        path: String,
    },
    /// A folder or pattern without a single file that can be read.
    #[error("{}: there is no CSV, Parquet or JSON Lines file in it", line(.path))]
    NoFiles {
        /// The folder or pattern as given.
        path: String,
        /// The first note on what was skipped, if anything was.
        skipped: Option<String>,
    },
    /// A link to a file that is gone.
    #[error("{}: a link to {}, which can't be found", line(.path), line(.target))]
    DeadLink {
        /// The link.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// The output folder of an earlier run that published other relations.
    #[error("{}: the output of an earlier run, which published no {}", line(.path), crate::marks::DEDUPED_DOCUMENTS)]
    NoDedupedDocuments {
        /// The folder.
        path: String,
    },
    /// Files and folders that can't be opened.
    #[error("{}: {}{}", line(.path), io_reason(.source), nor(.others))]
    Unreadable {
        /// The first of them.
        path: String,
        /// The system's reason.
        source: io::Error,
        /// The others.
        others: Vec<String>,
    },
    /// A file whose name doesn't tell its format.
    #[error("{}: the name doesn't tell the format", line(.path))]
    UnknownFormat {
        /// The file.
        path: String,
    },
    /// A pattern that can't be parsed.
    #[error("{}: not a valid pattern", line(.pattern))]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        source: glob::PatternError,
    },
    /// A file or folder that can't be opened or read.
    #[error("{}: {}", line(.path), io_reason(.source))]
    Io {
        /// The file or folder.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Parquet needs a file in which one can seek.
    #[error("{}: Parquet can't be read from a stream", line(.path))]
    ParquetStream {
        /// The stream.
        path: String,
    },
    /// A compressed Parquet file (`.parquet.gz`); Parquet compresses inside.
    #[error("{}: a Parquet file inside {compression} can't be read", line(.path))]
    ParquetCompressed {
        /// The file.
        path: String,
        /// What it is wrapped in.
        compression: Compression,
    },
    /// A Parquet file of no bytes.
    #[error("{}: 0 bytes, which is no Parquet file", line(.path))]
    ParquetEmpty {
        /// The file.
        path: String,
    },
    /// A Parquet file without a readable footer.
    #[error("{}: not a whole Parquet file ({} bytes): {}", line(.path), .bytes, line(&.source.to_string()))]
    ParquetFooter {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// The reader's reason.
        source: ParquetError,
    },
    /// A Parquet file with a page that can't be decoded.
    #[error("{}: damaged after row {after}: {}", line(.path), line(&.source.to_string()))]
    ParquetPage {
        /// The file.
        path: String,
        /// The last row before the damage that could be read.
        after: u64,
        /// The reader's reason.
        source: ArrowError,
    },
    /// A Parquet file so damaged that the decoder gave up.
    #[error("{}: damaged after row {after}: the decoder failed ({})", line(.path), line(.message))]
    ParquetDecoder {
        /// The file.
        path: String,
        /// The last row before the damage that could be read.
        after: u64,
        /// What the decoder said.
        message: String,
    },
    /// A Parquet row group that holds another number of rows than the footer says.
    #[error("{}: row group {group} should hold {expected} rows and holds {found}", line(.path))]
    ParquetRows {
        /// The file.
        path: String,
        /// The row group, from 0.
        group: usize,
        /// The footer's number.
        expected: i64,
        /// How many were decoded.
        found: u64,
    },
    /// A file that became another while it was read.
    #[error("{}: the file changed while it was read", line(.path))]
    Changed {
        /// The file.
        path: String,
    },
    /// A stream that breaks off or can't be decompressed.
    #[error("{}: the {compression} stream is broken or cut short after line {after}: {}", line(.path), line(&.source.to_string()))]
    Stream {
        /// The file.
        path: String,
        /// How it is compressed.
        compression: Compression,
        /// Whole lines before the break.
        after: u64,
        /// The decoder's reason.
        source: io::Error,
    },
    /// A file in UTF-16.
    #[error("{}: the text is UTF-16 ({endian}), not UTF-8", line(.path))]
    Utf16 {
        /// The file.
        path: String,
        /// `little-endian` or `big-endian`.
        endian: &'static str,
    },
    /// A file of bytes that are no text.
    #[error("{}: {what} has NUL bytes; this is no text, or not UTF-8", line(.path))]
    Binary {
        /// The file.
        path: String,
        /// Where they are.
        what: &'static str,
    },
    /// A record that is longer than any may be, or a file that has no line ends.
    #[error("{}, {place}: the record has more than {limit} bytes, the most that there may be", line(.path))]
    RecordTooLong {
        /// The file.
        path: String,
        /// Where it begins.
        place: Place,
        /// The limit.
        limit: u64,
    },
    /// A record for which there is no memory, as [`Spill::most_text`](super::Spill::most_text) bounds it.
    #[error("{}, {place}: the record has {bytes} bytes or more, which take about ten times as much memory while they are read and shingled, and that is more than there is", line(.path))]
    NoRoom {
        /// The file.
        path: String,
        /// Where it begins.
        place: Place,
        /// Its bytes, as far as it was read.
        bytes: u64,
    },
    /// More documents than there is memory for, as
    /// [`Spill::most_kept`](super::Spill::most_kept) bounds them.
    #[error(
        "what is kept of the first {documents} documents takes {bytes} bytes of memory (ids, titles, sources, domains, dates, and a few hundred bytes for each), and there is room for {most}"
    )]
    NoRoomForDocuments {
        /// The documents so far.
        documents: u64,
        /// The bytes that they take.
        bytes: u64,
        /// The room.
        most: u64,
    },
    /// A setting for CSV, and no CSV file.
    #[error("{option} has no meaning: none of the inputs is CSV")]
    NoCsv {
        /// `delimiter` or `quote`.
        option: &'static str,
    },
    /// JSON that isn't one object a line.
    #[error("{}: the file is one JSON {found}, not an object on each line", line(.path))]
    JsonNotLines {
        /// The file.
        path: String,
        /// `array` or `object`.
        found: &'static str,
    },
    /// A CSV header that can't be used.
    #[error("{}: the header line can't be used: {reason}", line(.path))]
    Header {
        /// The file.
        path: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A CSV header that seems to have another delimiter.
    #[error("{}: the columns that are needed are not in the header line `{}`, which looks like {columns} columns separated by {}", line(.path), short(.header), named(*.delimiter))]
    Delimiter {
        /// The file.
        path: String,
        /// The header line.
        header: String,
        /// What its fields seem to be separated by.
        delimiter: Delimiter,
        /// How many there are then.
        columns: usize,
    },
    /// Two columns of one name.
    #[error("{}: columns {first} and {second} are both called `{}`", line(.path), line(.name))]
    DuplicateColumn {
        /// The file.
        path: String,
        /// The name.
        name: String,
        /// The first column, from 1.
        first: usize,
        /// The second column, from 1.
        second: usize,
    },
    /// A column that isn't there.
    #[error("{}: there is no {role} column {}; the columns are {}", line(.path), or_list(.wanted), list(.found))]
    MissingColumn {
        /// The file.
        path: String,
        /// What it is for: `id`, `text`, `source`, `domain`, `date` or `title`.
        role: &'static str,
        /// The names that were looked for.
        wanted: Vec<String>,
        /// The columns there are.
        found: Vec<String>,
        /// The most similar of them.
        nearest: Option<String>,
    },
    /// Lines of one JSON Lines file that carry the role under different default names.
    #[error(
        "{}: some lines have `{first}` and others only `{second}`; either could be the {role} column",
        line(.path)
    )]
    AmbiguousColumn {
        /// The file.
        path: String,
        /// What it is for.
        role: &'static str,
        /// The name that goes first.
        first: &'static str,
        /// The other name.
        second: &'static str,
    },
    /// A column of a type that can't serve.
    #[error("{}: the {role} column `{}` is of type {found}, not {wanted}", line(.path), line(.column))]
    ColumnType {
        /// The file.
        path: String,
        /// What it is for.
        role: &'static str,
        /// Its name.
        column: String,
        /// Its type.
        found: String,
        /// What it has to be.
        wanted: &'static str,
    },
    /// A record without an id.
    #[error("{}, {place}: the id is null or empty", line(.path))]
    MissingId {
        /// The file.
        path: String,
        /// Where.
        place: Place,
    },
    /// Two records with one id.
    #[error(
        "the id `{}` stands twice: {}, {first_place} and {}, {second_place} ({repeated} repeated ids in all)",
        line(.id), line(.first), line(.second)
    )]
    DuplicateId {
        /// The id.
        id: String,
        /// The file of the first record.
        first: String,
        /// Where in it.
        first_place: Place,
        /// The file of the second record.
        second: String,
        /// Where in it.
        second_place: Place,
        /// How many records repeat an id that came before.
        repeated: u64,
        /// Whether ids were made, and still clash.
        made: bool,
    },
    /// More documents in one read than can be counted.
    #[error("more than {limit} batches of documents")]
    TooMany {
        /// The limit.
        limit: u64,
    },
    /// More text asked for at once than a column of its type can hold.
    #[error("column `{}`: {bytes} bytes asked for at once, and a column of type {kind} holds 2147483647", line(.column))]
    TooLarge {
        /// The column.
        column: String,
        /// How many bytes.
        bytes: u64,
        /// Its type.
        kind: String,
    },
    /// A column that couldn't be brought to its final type.
    #[error("column `{}`: can't be converted to {kind}: {}", line(.column), line(&.source.to_string()))]
    Convert {
        /// The column.
        column: String,
        /// The final type.
        kind: String,
        /// The reason.
        source: ArrowError,
    },
    /// The storage that was lent has failed; it knows why.
    #[error("documents that memory had no room for can't be kept or read back")]
    Storage,
    /// What a storage gave back is not what was kept.
    #[error("documents that memory had no room for can't be kept or read back: {}", line(&.source.to_string()))]
    Unspill {
        /// The reason.
        source: ArrowError,
    },
}

impl SourceError {
    /// What the user can do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoInputs => "name files, folders or patterns, or `-` for JSON Lines on standard input".into(),
            Self::NotFound { .. } => "check the path; quote patterns so that the shell leaves them alone".into(),
            Self::NoFiles { skipped: Some(skipped), .. } => skipped.clone(),
            Self::NoFiles { .. } => {
                "known endings are .csv .tsv .parquet .pq .jsonl .ndjson .json, and .gz or .zst after those of text".into()
            }
            Self::UnknownFormat { .. } => "say it with --format: csv, parquet or jsonl".into(),
            Self::DeadLink { .. } => "bring back what it leads to, or remove the link".into(),
            Self::NoDedupedDocuments { .. } => {
                "name the file in it that you mean, or let the run publish deduped_documents, too".into()
            }
            Self::Io { source, .. } | Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "check the permissions of the file and of the folders above it".into()
            }
            Self::ParquetStream { .. } => "save it to a file first".into(),
            Self::ParquetCompressed { .. } => "unpack it first".into(),
            Self::ParquetEmpty { .. } | Self::ParquetFooter { .. } => {
                "the writer may not have finished, or the copy was cut short; fetch the file again or leave it out".into()
            }
            Self::ParquetPage { .. } | Self::ParquetDecoder { .. } | Self::ParquetRows { .. } => {
                "the file is damaged; fetch it again or leave it out".into()
            }
            Self::Changed { .. } => "run again once nothing writes to it".into(),
            Self::Stream { compression: Compression::None, .. } => "read the file again or leave it out".into(),
            Self::Stream { compression, .. } => {
                format!("check it with `{} -t`; fetch it again or leave it out", compression.tool())
            }
            Self::Utf16 { .. } => "convert it, for example with `iconv -f UTF-16 -t UTF-8`".into(),
            Self::JsonNotLines { found: "array", .. } => {
                "convert it to one object a line, for example with `jq -c '.[]'`".into()
            }
            Self::JsonNotLines { .. } => "convert it to one object a line, for example with `jq -c .`".into(),
            Self::Binary { .. } => {
                "check what the file is; text in another encoding can be converted with `iconv`".into()
            }
            Self::RecordTooLong { .. } => {
                "check that it is a text file with a record on each line; split longer documents".into()
            }
            Self::NoRoom { bytes, .. } => {
                let megabytes = (bytes * 10).div_ceil(1 << 20);
                format!(
                    "allow more than --memory {megabytes}MiB, since a record of a text file was not \
                     read to its end, or split the document"
                )
            }
            Self::NoRoomForDocuments { .. } => {
                "allow more --memory, or split the corpus; a title column that is not needed can be \
                 given up with another --title-column"
                    .into()
            }
            Self::NoCsv { option } => format!(
                "leave out --{option}, or say that the inputs are CSV with --format csv"
            ),
            Self::Header { reason, .. } if reason.contains("quote") => {
                "close it, or read quotes as plain characters with --quote none".into()
            }
            Self::Header { .. } => "mend the header line, or check that the file is CSV in UTF-8".into(),
            Self::Delimiter { delimiter, .. } => match delimiter.to_string().as_str() {
                "tab" => "add --delimiter tab".into(),
                delimiter => format!("add --delimiter '{delimiter}'"),
            },
            Self::DuplicateColumn { .. } => "rename one of them".into(),
            Self::MissingColumn { role, nearest, .. } => {
                let made = if *role == "id" { ", or let ids be made with --make-ids" } else { "" };
                match nearest {
                    Some(name) => {
                        format!("did you mean `{}`? Name the column with --{role}-column{made}", line(name))
                    }
                    None => format!("name the column with --{role}-column{made}"),
                }
            }
            Self::ColumnType { role, .. } => format!("name another column with --{role}-column"),
            Self::AmbiguousColumn { role, .. } => format!("name the column with --{role}-column"),
            Self::MissingId { .. } => "fill it in, or let ids be made with --make-ids".into(),
            Self::DuplicateId { made: false, .. } => {
                "make the ids unique, or let new ones be made with --make-ids".into()
            }
            Self::DuplicateId { made: true, .. } => "an id of the input looks like a made one; rename it".into(),
            Self::Storage | Self::Unspill { .. } => {
                "look at the free space and the disk of the work folder, or let more memory be used".into()
            }
            Self::TooLarge { .. } => "ask for fewer documents at once".into(),
            _ => return None,
        })
    }
}

/// A name on one line, whatever it contains.
pub(super) fn line(text: &str) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .flat_map(|c| {
                if c.is_control() {
                    c.escape_default().collect::<Vec<_>>()
                } else {
                    vec![c]
                }
            })
            .collect()
    } else {
        text.to_string()
    }
}

/// The beginning of a long line.
fn short(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", line(&text[..end])),
        None => line(text),
    }
}

fn named(delimiter: Delimiter) -> String {
    match delimiter.to_string().as_str() {
        "tab" => "tabs".into(),
        delimiter => format!("`{delimiter}`"),
    }
}

fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "no permission to read it".into(),
        _ => line(&error.to_string()),
    }
}

/// The other files that can't be read, a few of them by name.
fn nor(others: &[String]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = others.iter().take(SHOWN).map(|name| line(name)).collect();
    match others.len() {
        0 => String::new(),
        n if n <= SHOWN => format!("; nor can {} be read", names.join(", ")),
        n => format!(
            "; nor can {} and {} more be read",
            names.join(", "),
            n - SHOWN
        ),
    }
}

fn or_list(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("`{}`", line(name)))
        .collect::<Vec<_>>()
        .join(" or ")
}

/// At most twenty names: the message stays a line that one can read.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "none".into();
    }
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{}`", line(name)))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
