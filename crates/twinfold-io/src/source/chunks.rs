//! A text file cut into pieces of whole records, so that one big file can be parsed by all threads.
//!
//! Cutting is the only part that has to be done in order, so it does as little as possible: for JSON
//! Lines it looks for the last line feed of a megabyte, for CSV it follows the quotes. A record longer
//! than a chunk makes the chunk twice as long until it fits. Cost: memory speed, and one long record.

use std::io::Read;

use memchr::{memchr, memchr_iter, memchr3, memrchr};

use super::compress::Stream;
use super::{Format, InputFile, SourceError};

const CHUNK: usize = 1 << 20;

/// Whole records of a text file.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The line on which it begins, from 1.
    pub(super) line: u64,
}

/// The pieces of a text file.
pub(super) struct Chunks {
    name: String,
    stream: Stream,
    format: Format,
    delimiter: u8,
    /// What was read and not yet handed out.
    buffer: Vec<u8>,
    begun: bool,
    ended: bool,
    line: u64,
}

impl Chunks {
    pub(super) fn open(file: &InputFile) -> Result<Self, SourceError> {
        let stream = Stream::open(file, true).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => SourceError::Stream {
                path: file.name.clone(),
                compression: file.compression,
                after: 0,
                source,
            },
            _ => SourceError::Io {
                path: file.name.clone(),
                source,
            },
        })?;
        Ok(Self {
            name: file.name.clone(),
            stream,
            format: file.format,
            delimiter: file.delimiter,
            buffer: Vec::new(),
            begun: false,
            ended: false,
            line: 1,
        })
    }

    /// Bytes of the file, as it lies on disk, that have been read.
    pub(super) fn bytes(&self) -> u64 {
        self.stream.taken()
    }

    /// Whether the chunk that was handed out is the last.
    pub(super) fn ended(&self) -> bool {
        self.ended && self.buffer.is_empty()
    }

    /// The hash of the file; whole only after the last chunk.
    pub(super) fn sha256(&self) -> String {
        self.stream.sha256()
    }

    /// The next whole records; the last may lack its line end.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>, SourceError> {
        let mut wanted = CHUNK;
        // Everything before `done` ends at a record's end; `lines` are the lines up to there.
        let (mut done, mut lines) = (0, 0);
        loop {
            self.fill(wanted)?;
            match self.format {
                Format::Csv => {
                    while let Some(end) = record_end(&self.buffer, done, self.delimiter, self.ended)
                    {
                        lines += count_lines(&self.buffer[done..end]);
                        done = end;
                    }
                }
                _ if self.ended => done = self.buffer.len(),
                _ => done = memrchr(b'\n', &self.buffer).map_or(0, |at| at + 1),
            }
            if done > 0 || self.ended {
                break;
            }
            wanted = self.buffer.len() * 2;
        }
        if done == 0 {
            return Ok(None);
        }
        let rest = self.buffer[done..].to_vec();
        self.buffer.truncate(done);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        if self.format != Format::Csv {
            lines = memchr_iter(b'\n', &bytes).count() as u64;
        }
        let line = self.line;
        self.line += lines;
        Ok(Some(Chunk { bytes, line }))
    }

    /// Reads until the buffer holds `wanted` bytes or the file ends.
    fn fill(&mut self, wanted: usize) -> Result<(), SourceError> {
        while !self.ended && self.buffer.len() < wanted {
            let more = (wanted - self.buffer.len()) as u64;
            self.buffer.reserve(more as usize);
            match self
                .stream
                .by_ref()
                .take(more)
                .read_to_end(&mut self.buffer)
            {
                Ok(n) => self.ended = (n as u64) < more,
                Err(source) => {
                    let after = self.line - 1 + memchr_iter(b'\n', &self.buffer).count() as u64;
                    let (path, compression) = (self.name.clone(), self.stream.compression);
                    return Err(SourceError::Stream {
                        path,
                        compression,
                        after,
                        source,
                    });
                }
            }
        }
        if !self.begun {
            self.begun = true;
            let endian = match self.buffer.as_slice() {
                [0xff, 0xfe, ..] => Some("little-endian"),
                [0xfe, 0xff, ..] => Some("big-endian"),
                _ => None,
            };
            if let Some(endian) = endian {
                return Err(SourceError::Utf16 {
                    path: self.name.clone(),
                    endian,
                });
            }
            if self.buffer.starts_with("\u{feff}".as_bytes()) {
                self.buffer.drain(..3);
            }
        }
        Ok(())
    }
}

/// Where the CSV record that begins at `start` ends, after its line end; `None` when it doesn't end in
/// these bytes, or there is none. `ended` when no more bytes will follow.
///
/// The rules are those of the `csv` crate: a quote opens a quoted field only at the field's beginning,
/// two quotes in it are one, and LF, CR and CR LF outside of quotes end the record.
pub(super) fn record_end(bytes: &[u8], start: usize, delimiter: u8, ended: bool) -> Option<usize> {
    let rest = (ended && start < bytes.len()).then_some(bytes.len());
    let mut at = start;
    loop {
        let Some(step) = memchr3(b'"', b'\n', b'\r', &bytes[at..]) else {
            return rest;
        };
        at += step;
        match bytes[at] {
            b'\n' => return Some(at + 1),
            b'\r' => {
                return match bytes.get(at + 1) {
                    Some(b'\n') => Some(at + 2),
                    Some(_) => Some(at + 1),
                    None => rest,
                };
            }
            _ if at == start || bytes[at - 1] == delimiter => {
                at += 1;
                loop {
                    let Some(step) = memchr(b'"', &bytes[at..]) else {
                        return rest;
                    };
                    at += step + 1;
                    match bytes.get(at) {
                        Some(b'"') => at += 1,
                        Some(_) => break,
                        None => return rest,
                    }
                }
            }
            _ => at += 1,
        }
    }
}

/// The lines that a CSV record takes, blank lines before it being records of their own.
pub(super) fn count_lines(record: &[u8]) -> u64 {
    memchr_iter(b'\n', record).count() as u64 + u64::from(record.ends_with(b"\r"))
}
