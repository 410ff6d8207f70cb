//! One unit of reading, in two steps: fetch what must be had in order, decode it at any time.
//!
//! [`super::read`] calls the first under the unit's lock and the second outside of it, so `fetch` does
//! as little as its format allows: cutting for text, decompressing and decoding pages for Parquet.

use std::path::Path;
use std::sync::Arc;

use super::batch::Batch;
use super::chunks::{Chunk, Chunks};
use super::columns::{ColumnNames, ROLES};
use super::csv::{self, Header};
use super::footer::Footer;
use super::parquet::{self, GroupReader, Rows};
use super::{Format, InputFile, Place, Rejected, SourceError, compress, jsonl};

/// What a reader has to know about its file.
pub(super) struct FileContext<'a> {
    pub(super) index: u32,
    pub(super) name: &'a str,
    pub(super) path: Option<&'a Path>,
    pub(super) format: Format,
    pub(super) columns: &'a ColumnNames,
    pub(super) make_ids: bool,
    /// The most bytes that a text may have for the memory that there is.
    pub(super) most_text: u64,
}

impl FileContext<'_> {
    pub(super) fn place(&self, number: u64) -> Place {
        match self.format {
            Format::Parquet => Place::Row(number),
            _ => Place::Line(number),
        }
    }

    pub(super) fn rejected(&self, number: u64, reason: String) -> Rejected {
        Rejected {
            file: self.name.into(),
            place: self.place(number),
            reason,
        }
    }
}

/// What a reader makes of a step.
pub(super) struct Piece {
    pub(super) batch: Batch,
    pub(super) rejected: Vec<Rejected>,
    /// Records read: documents and rejected ones.
    pub(super) records: u64,
    pub(super) keys: Option<KeysSeen>,
}

impl Piece {
    /// Whether there is memory for what each text will become.
    pub(super) fn check_room(&self, file: &FileContext<'_>) -> Result<(), SourceError> {
        let mut lengths = (0..).zip(self.batch.texts().map(|text| text.len() as u64));
        match lengths.find(|&(_, bytes)| bytes > file.most_text) {
            None => Ok(()),
            Some((row, bytes)) => Err(SourceError::NoRoom {
                path: file.name.into(),
                place: file.place(self.batch.places.get(row)),
                bytes,
            }),
        }
    }
}

/// The keys that some lines of JSON have, of which only the whole file can say what is missing.
#[derive(Clone, Default)]
pub(super) struct KeysSeen {
    pub(super) objects: bool,
    pub(super) names: Vec<String>,
    /// For each role: whether the name that goes first is there.
    pub(super) first: [bool; ROLES.len()],
    /// For each role: whether a line has the second name without the first.
    pub(super) second: [bool; ROLES.len()],
}

/// What is read in order: a text file, a row group, or a whole file for its hash.
pub(super) enum Unit {
    /// A text file, and how many of its bytes have been told to the caller.
    Text {
        chunks: Option<Chunks>,
        header: Option<Arc<Header>>,
        told: u64,
    },
    Group(GroupReader),
    /// A Parquet file for its hash, and how many of its bytes its row groups tell.
    Hash(u64),
    /// One that was read: whatever it held open is closed.
    Done,
}

/// Raw work, fetched in order and decoded in any.
pub(super) enum Raw {
    Csv(Arc<Header>, Chunk),
    Json(Chunk),
    Rows(Arc<Footer>, Rows),
}

/// What a fetch comes back with.
pub(super) enum Next {
    Raw(Raw),
    /// Nothing more; with the size and SHA-256 of the file if the unit has seen all of it.
    End(Option<(u64, String)>),
}

impl Unit {
    /// A text file.
    pub(super) fn text() -> Self {
        Self::Text {
            chunks: None,
            header: None,
            told: 0,
        }
    }

    /// The part that has to be done in order; `told` hears how many bytes of the file it took.
    pub(super) fn fetch(
        &mut self,
        file: &FileContext<'_>,
        described: &InputFile,
        told: &dyn Fn(u64),
    ) -> Result<Next, SourceError> {
        match self {
            Self::Text {
                chunks,
                header,
                told: before,
            } => {
                let chunks = match chunks {
                    Some(chunks) => chunks,
                    None => chunks.insert(Chunks::open(described)?.allow(file.most_text)),
                };
                loop {
                    let next = chunks.next();
                    told(chunks.bytes() - *before);
                    *before = chunks.bytes();
                    let Some(mut chunk) = next? else {
                        return Ok(Next::End(Some((chunks.bytes(), chunks.sha256()))));
                    };
                    if file.format == Format::JsonLines {
                        if chunk.line == 1
                            && let Some(found) = jsonl::one_value(&chunk.bytes, chunks.ended())
                        {
                            let path = file.name.into();
                            return Err(SourceError::JsonNotLines { path, found });
                        }
                        return Ok(Next::Raw(Raw::Json(chunk)));
                    }
                    if header.is_none() {
                        *header = csv::header(file, &mut chunk)?.map(Arc::new);
                    }
                    // A chunk of blank lines before the header has nothing for anybody.
                    if let Some(header) = header {
                        return Ok(Next::Raw(Raw::Csv(header.clone(), chunk)));
                    }
                }
            }
            Self::Group(group) => Ok(match group.next(file)? {
                Some(rows) => {
                    told(rows.bytes);
                    Next::Raw(Raw::Rows(group.footer().clone(), rows))
                }
                None => Next::End(None),
            }),
            Self::Hash(groups) => {
                let Some(path) = file.path else {
                    return Ok(Next::End(None));
                };
                let (size, sha256) = compress::sha256(path).map_err(|source| SourceError::Io {
                    path: file.name.into(),
                    source,
                })?;
                told(size.saturating_sub(*groups));
                Ok(Next::End(Some((size, sha256))))
            }
            Self::Done => Ok(Next::End(None)),
        }
    }
}

impl Raw {
    /// The part that any thread can do at any time.
    pub(super) fn decode(self, file: &FileContext<'_>) -> Result<Vec<Piece>, SourceError> {
        match self {
            Self::Csv(header, chunk) => {
                let mut pieces = csv::decode(file, &header, &chunk);
                if pieces.is_empty() {
                    // The header alone still tells the columns.
                    pieces.push(csv::empty(file, &header));
                }
                Ok(pieces)
            }
            Self::Json(chunk) => Ok(jsonl::decode(file, &chunk)),
            Self::Rows(footer, rows) => parquet::decode(file, &footer, rows),
        }
    }
}
