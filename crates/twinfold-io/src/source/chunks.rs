//! A text file cut into pieces of whole records, so that one big file can be parsed by all threads.
//!
//! Cutting is the only part that has to be done in order, so it does as little as possible: for JSON
//! Lines it looks for the last line feed of a megabyte, for CSV it follows the quotes. A record longer
//! than a chunk makes the chunk twice as long until it fits, up to [`LONGEST`].
//!
//! CSV follows the rules of RFC 4180 and of the `csv` crate: a quote opens a quoted field only at the
//! field's beginning, two quotes in it are one, LF, CR and CR LF outside of quotes end the record, and
//! what stands between a closing quote and the next delimiter on its line belongs to the field. They
//! are narrower in one thing, since a quote that was never meant to open anything would swallow the
//! lines up to the next one, and often without a trace. A quoted field that runs over a line end must
//! be closed by a quote before a delimiter, a line end or the end of the file, within [`LONGEST`]
//! bytes of the record's beginning. And unless the user vouches for the quotes, its lines must not
//! look like records of their own ([`alike`]). Otherwise the quote is a [`Stray`]: the record ends
//! with the line in which it opened, is rejected, and reading goes on at the next line.
//!
//! Guarantee: where records end follows from the bytes of the file alone, not from how they are cut
//! into chunks. Cost: memory speed, and one long record. Looking ahead stays linear. For the end of one
//! stray quote: the next quote that is not doubled ends the search, and from its line on it is another
//! quote that is looked for. For the end of a record whose quotes all close, over ever more lines:
//! [`WINDOW`] of them tell what it is, so no line is looked at for more records than that.

use std::io::Read;

use memchr::{memchr, memchr_iter, memchr2, memchr3, memmem, memrchr};

use super::compress::Stream;
use super::csv;
use super::dialect::{Delimiter, Dialect, Quotes};
use super::{Format, InputFile, Place, SourceError};

/// About the bytes of a chunk.
const CHUNK: usize = 1 << 20;
/// Most bytes of a record, its line end included. Without a bound, a file without line ends or a
/// device that never ends would fill the memory.
const LONGEST: usize = 512 << 20;
/// The lines of a record by which is told whether they look like records of their own.
const WINDOW: u64 = 64;
/// What must be looked at together at the beginning of a file.
const HEAD: usize = 16;

/// Whole records of a text file.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    /// The records of a CSV file, blank lines included; they fill the bytes from `from` on.
    pub(super) records: Vec<Record>,
    /// Where the first of the records begins.
    pub(super) from: usize,
    /// How the records are written.
    pub(super) dialect: Dialect,
    /// What ends the lines of JSON.
    pub(super) line_end: u8,
}

/// A CSV record.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    /// Where it ends in its chunk, after its line end.
    pub(super) end: usize,
    /// What is wrong with it, if it is none.
    pub(super) stray: Option<Box<Stray>>,
}

/// A quote that opens a field and does not close it as it should.
#[derive(Debug, PartialEq)]
pub(super) struct Stray {
    kind: StrayKind,
    /// The lines of the record before that in which the quote opens.
    before: u64,
    /// The lines that it would take, the one in which it opens included.
    lines: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum StrayKind {
    /// The next quote, on another line, doesn't end a field.
    Broken,
    /// There is no other quote to the end of the file.
    Unclosed,
    /// There is no other quote in as many bytes as a record may have.
    Endless,
    /// What it takes looks like records.
    Alike,
}

impl Stray {
    /// Why the record that begins at `line` is rejected.
    pub(super) fn reason(&self, line: u64) -> String {
        let opened = line + self.before;
        let lines = match self.lines {
            1 => "1 line".into(),
            lines => format!("{lines} lines"),
        };
        let fault = match self.kind {
            StrayKind::Broken => format!("runs over {lines} to a quote that ends no field"),
            StrayKind::Unclosed => {
                format!("is never closed; it runs over {lines} to the end of the file")
            }
            StrayKind::Endless => format!("is not closed within {LONGEST} bytes and {lines}"),
            // Nobody has looked for the end of so many.
            StrayKind::Alike if self.lines > WINDOW => {
                format!("runs over {lines} or more that look like records of their own")
            }
            StrayKind::Alike => format!("runs over {lines} that look like records of their own"),
        };
        let other = match self.kind {
            StrayKind::Alike => ", --quote '\"' takes them as one record",
            _ => "",
        };
        format!(
            "the quote that opens in line {opened} {fault}; reading goes on after line {opened} \
             (--quote none reads quotes as plain characters{other})"
        )
    }
}

/// The pieces of a text file.
pub(super) struct Chunks {
    name: String,
    stream: Stream,
    format: Format,
    dialect: Dialect,
    /// The fields of the header of a CSV file, once it was found.
    fields: Option<usize>,
    /// What was read; up to `start` it has been handed out.
    buffer: Vec<u8>,
    start: usize,
    begun: bool,
    ended: bool,
    line: u64,
    /// What ends the lines of JSON: a line feed, but for files that have none among their objects.
    line_end: u8,
    /// The most bytes that a record may have for the memory that there is.
    allowed: u64,
    /// [`CHUNK`], [`LONGEST`] and [`WINDOW`], but for tests.
    chunk: usize,
    longest: usize,
    window: u64,
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
            dialect: file.dialect,
            fields: None,
            buffer: Vec::new(),
            start: 0,
            begun: false,
            ended: false,
            line: 1,
            line_end: b'\n',
            chunk: CHUNK,
            longest: LONGEST,
            window: WINDOW,
            allowed: u64::MAX,
        })
    }

    /// Records of more bytes than this stop the reading: there is no memory for what they become.
    pub(super) fn allow(mut self, bytes: u64) -> Self {
        self.allowed = bytes;
        self
    }

    /// Bytes of the file, as it lies on disk, that have been read.
    pub(super) fn bytes(&self) -> u64 {
        self.stream.taken()
    }

    /// Whether the chunk that was handed out is the last.
    pub(super) fn ended(&self) -> bool {
        self.ended && self.left().is_empty()
    }

    /// The hash of the file; whole only after the last chunk.
    pub(super) fn sha256(&self) -> String {
        self.stream.sha256()
    }

    fn left(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The next whole records; the last may lack its line end.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>, SourceError> {
        let mut wanted = self.chunk.max(HEAD);
        loop {
            self.fill(wanted)?;
            self.begin()?;
            let (records, done, lines) = match self.format {
                Format::Csv => self.records()?,
                _ => self.lines()?,
            };
            if done > 0 {
                let bytes = self.left()[..done].to_vec();
                self.start += done;
                let line = self.line;
                self.line += lines;
                return Ok(Some(Chunk {
                    bytes,
                    line,
                    records,
                    from: 0,
                    dialect: self.dialect,
                    line_end: self.line_end,
                }));
            }
            if self.ended {
                return Ok(None);
            }
            if self.left().len() as u64 > self.allowed.max(self.chunk as u64) {
                return Err(SourceError::NoRoom {
                    path: self.name.clone(),
                    place: Place::Line(self.line),
                    bytes: self.left().len() as u64,
                });
            }
            // Beyond the longest record there is nothing to wait for.
            wanted = (self.left().len() * 2).clamp(wanted, self.longest.max(HEAD) + 1);
        }
    }

    /// Cuts off records of CSV: them, their bytes and their lines.
    fn records(&mut self) -> Result<(Vec<Record>, usize, u64), SourceError> {
        if self.fields.is_none() {
            self.check_header()?;
        }
        let (mut records, mut done, mut lines) = (Vec::new(), 0, 0);
        let left = &self.buffer[self.start..];
        while done < left.len() && done < self.chunk {
            let rest = &left[done..];
            let view = &rest[..rest.len().min(self.longest)];
            let end = match (rest.len() > self.longest, self.ended) {
                (true, _) => End::Limit,
                (false, true) => End::File,
                (false, false) => End::Buffer,
            };
            let record = match cut(view, self.dialect, self.fields, self.window, end) {
                Cut::Record(record) => record,
                Cut::More => break,
                // What comes before is handed out first.
                Cut::TooLong if done > 0 => break,
                Cut::TooLong => return Err(self.too_long()),
            };
            let bytes = &view[..record.end];
            if self.fields.is_none() && !csv::is_blank(bytes) {
                self.fields = Some(csv::count_fields(bytes, self.dialect));
            }
            lines += count_lines(bytes);
            done += record.end;
            records.push(Record {
                end: done,
                ..record
            });
        }
        Ok((records, done, lines))
    }

    /// Cuts off the lines of JSON Lines.
    fn lines(&self) -> Result<(Vec<Record>, usize, u64), SourceError> {
        let left = self.left();
        if left.len() > self.longest && memchr(self.line_end, &left[..self.longest]).is_none() {
            return Err(self.too_long());
        }
        let done = if self.ended {
            left.len()
        } else {
            memrchr(self.line_end, left).map_or(0, |at| at + 1)
        };
        let lines = memchr_iter(self.line_end, &left[..done]).count() as u64;
        Ok((Vec::new(), done, lines))
    }

    fn too_long(&self) -> SourceError {
        SourceError::RecordTooLong {
            path: self.name.clone(),
            place: Place::Line(self.line),
            limit: self.longest as u64,
        }
    }

    /// Refuses a header of a file that is no text, before its end is looked for.
    fn check_header(&self) -> Result<(), SourceError> {
        let left = self.left();
        let blank = left
            .iter()
            .take_while(|byte| matches!(byte, b'\n' | b'\r'))
            .count();
        let line = &left[blank..];
        let line = &line[..memchr2(b'\n', b'\r', line).unwrap_or(line.len())];
        match memchr(0, line) {
            None => Ok(()),
            Some(_) => Err(SourceError::Binary {
                path: self.name.clone(),
                what: "the header line",
            }),
        }
    }

    /// Reads until `wanted` bytes are left or the file ends.
    fn fill(&mut self, wanted: usize) -> Result<(), SourceError> {
        if self.left().len() >= wanted || self.ended {
            return Ok(());
        }
        self.buffer.drain(..std::mem::take(&mut self.start));
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
        Ok(())
    }

    /// Looks at how the file begins: its encoding, and what Excel says of the delimiter.
    fn begin(&mut self) -> Result<(), SourceError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let left = self.left();
        let path = || self.name.clone();
        if let Some(endian) = utf16(left) {
            return Err(SourceError::Utf16 {
                path: path(),
                endian,
            });
        }
        if left.first() == Some(&0) && memchr(b'\n', left).is_none() {
            return Err(SourceError::Binary {
                path: path(),
                what: "its beginning",
            });
        }
        if memchr(b'\n', left).is_none() && memmem::find(left, b"}\r{").is_some() {
            self.line_end = b'\r';
        }
        if self.left().starts_with("\u{feff}".as_bytes()) {
            self.start += 3;
        }
        if self.format == Format::Csv
            && let Some((delimiter, bytes)) = separator(self.left())
        {
            if !self.dialect.named {
                self.dialect.delimiter = delimiter.0;
            }
            self.start += bytes;
            self.line += 1;
        }
        Ok(())
    }
}

/// The byte order of UTF-16, by its mark or by every other byte of the first four being zero.
fn utf16(bytes: &[u8]) -> Option<&'static str> {
    match *bytes {
        [0xff, 0xfe, ..] => Some("little-endian"),
        [0xfe, 0xff, ..] => Some("big-endian"),
        [1..0x80, 0, 1..0x80, 0, ..] => Some("little-endian"),
        [0, 1..0x80, 0, 1..0x80, ..] => Some("big-endian"),
        _ => None,
    }
}

/// The line `sep=;` before the header, by which Excel is told the delimiter, and its bytes.
fn separator(bytes: &[u8]) -> Option<(Delimiter, usize)> {
    let quoted = bytes.first() == Some(&b'"');
    let text = &bytes[usize::from(quoted)..];
    let (sep, rest) = text.split_at_checked(4)?;
    let (&byte, mut rest) = rest.split_first()?;
    if !sep.eq_ignore_ascii_case(b"sep=") {
        return None;
    }
    if quoted {
        rest = rest.strip_prefix(b"\"")?;
    }
    let end = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        [] => 0,
        _ => return None,
    };
    Some((Delimiter::new(byte)?, bytes.len() - rest.len() + end))
}

/// What comes after the bytes in which a record is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// Nothing.
    File,
    /// More, which is not read yet.
    Buffer,
    /// Whatever it is, a record may not be so long.
    Limit,
}

enum Cut {
    Record(Record),
    /// It doesn't end in these bytes.
    More,
    /// It is longer than a record may be.
    TooLong,
}

/// Cuts off the record with which the bytes begin; there is at least one byte.
fn cut(bytes: &[u8], dialect: Dialect, fields: Option<usize>, window: u64, end: End) -> Cut {
    let mut at = 0;
    // The first quote whose field runs over a line end.
    let mut spanning = None;
    // Whether its lines may still turn out to look like records, and the line ends so far.
    let mut suspect = fields.filter(|_| dialect.quotes == Quotes::Auto);
    let (mut counted, mut feeds, mut returns) = (0, 0, 0);
    let record = loop {
        let rest = &bytes[at..];
        let found = match dialect.quotes {
            Quotes::Never => memchr2(b'\n', b'\r', rest),
            _ => memchr3(b'"', b'\n', b'\r', rest),
        };
        let open_end = |record| match end {
            End::File => Ok(record),
            End::Buffer => Err(Cut::More),
            End::Limit => Err(Cut::TooLong),
        };
        let Some(step) = found else {
            match open_end(bytes.len()) {
                Ok(record) => break record,
                Err(cut) => return cut,
            }
        };
        at += step;
        looked(step);
        match bytes[at] {
            b'\n' => break at + 1,
            b'\r' => match bytes.get(at + 1) {
                Some(b'\n') => break at + 2,
                Some(_) => break at + 1,
                None => match open_end(at + 1) {
                    Ok(record) => break record,
                    Err(cut) => return cut,
                },
            },
            _ if at > 0 && bytes[at - 1] != dialect.delimiter => at += 1,
            _ => {
                let close = closing(bytes, at + 1);
                // Whether the quote closes; `None` where only more bytes can tell.
                let closes = close.and_then(|close| match bytes.get(close + 1) {
                    Some(&next) => Some(next == dialect.delimiter || is_end(next)),
                    None => (end == End::File).then_some(true),
                });
                let (Some(close), Some(closes)) = (close, closes) else {
                    return match end {
                        End::File => stray(bytes, StrayKind::Unclosed, at, bytes.len(), end),
                        End::Limit => stray(bytes, StrayKind::Endless, at, bytes.len(), end),
                        End::Buffer => Cut::More,
                    };
                };
                if memchr2(b'\n', b'\r', &bytes[at..close]).is_some() {
                    if !closes {
                        return stray(bytes, StrayKind::Broken, at, close, end);
                    }
                    spanning.get_or_insert(at);
                }
                at = close + 1;
                if let (Some(open), Some(fields)) = (spanning, suspect) {
                    let new = &bytes[std::mem::replace(&mut counted, at)..at];
                    feeds += memchr_iter(b'\n', new).count() as u64;
                    returns += memchr_iter(b'\r', new).count() as u64;
                    if (if feeds > 0 { feeds } else { returns }) >= window {
                        let begun = &bytes[..at];
                        let wrong = || csv::count_fields(begun, dialect) > fields;
                        if alike(begun, dialect, fields, window, wrong) {
                            return stray(bytes, StrayKind::Alike, open, at, end);
                        }
                        suspect = None;
                    }
                }
            }
        }
    };
    match (spanning, suspect) {
        (Some(open), Some(fields))
            if alike(&bytes[..record], dialect, fields, window, || {
                csv::count_fields(&bytes[..record], dialect) != fields
            }) =>
        {
            stray(bytes, StrayKind::Alike, open, record, end)
        }
        _ => Cut::Record(Record {
            end: record,
            stray: None,
        }),
    }
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The first quote from `at` on that isn't one of two.
fn closing(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let step = memchr(b'"', &bytes[at..]);
        looked(step.unwrap_or(bytes.len() - at));
        at += step?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// The line in which the quote at `open` stands, as a record that is none; it would take the bytes up
/// to `last`.
fn stray(bytes: &[u8], kind: StrayKind, open: usize, last: usize, end: End) -> Cut {
    let line_end = match memchr2(b'\n', b'\r', &bytes[open..]) {
        Some(step) => {
            let at = open + step;
            at + 1 + usize::from(bytes[at..].starts_with(b"\r\n"))
        }
        None if end == End::Limit => return Cut::TooLong,
        None => bytes.len(),
    };
    Cut::Record(Record {
        end: line_end,
        stray: Some(Box::new(Stray {
            kind,
            before: lines(&bytes[..open]).saturating_sub(1),
            lines: lines(&bytes[open..last]),
        })),
    })
}

/// What ends the lines of some bytes: LF if there is any.
fn line_end(bytes: &[u8]) -> u8 {
    match memchr(b'\n', bytes) {
        Some(_) => b'\n',
        None => b'\r',
    }
}

/// The lines of some bytes, begun ones included.
fn lines(bytes: &[u8]) -> u64 {
    let end = line_end(bytes);
    let begun = bytes.last().is_some_and(|&byte| byte != end);
    memchr_iter(end, bytes).count() as u64 + u64::from(begun)
}

/// Counts the bytes that were looked at, in tests.
#[cfg(not(test))]
fn looked(_: usize) {}

#[cfg(test)]
use tests::looked;

/// Whether the lines of a record that spans several look like records of their own: at least nine in
/// ten of the first `window` have as many fields as the header if quotes are plain characters.
///
/// If the record itself has a `wrong` number of fields, it is no use anyway. If it has the right one,
/// that may be chance, and what its lines look like, too: two lines of a text with a comma in each are
/// nothing to wonder at, two with a tab or a bar are. So where prose has the delimiter, it must be eight
/// lines with two or more of it each, or a `window` of lines with one.
fn alike(
    record: &[u8],
    dialect: Dialect,
    fields: usize,
    window: u64,
    wrong: impl FnOnce() -> bool,
) -> bool {
    // In a file of one column every line looks like a record.
    if fields < 2 {
        return false;
    }
    looked(record.len());
    let (end, lines) = (line_end(record), lines(record).min(window));
    let without_end = record.strip_suffix(&[end]).unwrap_or(record);
    let mut others = 0;
    for line in without_end.split(|&byte| byte == end).take(lines as usize) {
        let found = memchr_iter(dialect.delimiter, line).count() + 1;
        others += u64::from(found != fields);
        if others * 10 > lines {
            return false;
        }
    }
    let rare = dialect.delimiter == b'|' || dialect.delimiter.is_ascii_control();
    let least = match fields {
        _ if rare => 2,
        2 => window,
        _ => 8,
    };
    lines >= least || wrong()
}

/// The lines that a CSV record takes, blank lines before it being records of their own.
pub(super) fn count_lines(record: &[u8]) -> u64 {
    memchr_iter(b'\n', record).count() as u64 + u64::from(record.ends_with(b"\r"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::super::Compression;
    use super::*;

    /// Where each record of some bytes ends, and what is wrong with it; then where one begins that is
    /// too long.
    type Records = (Vec<(usize, Option<(StrayKind, u64, u64)>)>, Option<usize>);

    fn dialect(delimiter: u8, quotes: Quotes) -> Dialect {
        Dialect::new(Delimiter::new(delimiter).unwrap()).with(None, quotes)
    }

    fn chunks(bytes: &[u8], format: Format, dialect: Dialect, chunk: usize) -> Chunks {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let chunks = Chunks::open(&InputFile {
            path: Some(file.path().into()),
            name: "x".into(),
            format,
            compression: Compression::None,
            bytes: bytes.len() as u64,
            dialect,
            regular: true,
        });
        Chunks {
            chunk,
            ..chunks.unwrap()
        }
    }

    thread_local! {
        static LOOKED: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn looked(bytes: usize) {
        LOOKED.set(LOOKED.get() + bytes);
    }

    fn read(bytes: &[u8], dialect: Dialect, chunk: usize, longest: usize, window: u64) -> Records {
        let mut chunks = chunks(bytes, Format::Csv, dialect, chunk);
        (chunks.longest, chunks.window) = (longest, window);
        let (mut records, mut done, mut line) = (Vec::new(), 0, 1);
        loop {
            match chunks.next() {
                Err(SourceError::RecordTooLong { place, .. }) => {
                    assert_eq!(place, Place::Line(line));
                    return (records, Some(done));
                }
                Err(error) => panic!("{error}"),
                Ok(None) => break,
                Ok(Some(chunk)) => {
                    assert_eq!(chunk.line, line);
                    assert_eq!(chunk.bytes, bytes[done..done + chunk.bytes.len()]);
                    let mut at = 0;
                    for record in &chunk.records {
                        line += count_lines(&chunk.bytes[at..record.end]);
                        at = record.end;
                        let stray = record.stray.as_deref();
                        let stray = stray.map(|stray| (stray.kind, stray.before, stray.lines));
                        records.push((done + record.end, stray));
                    }
                    assert_eq!(at, chunk.bytes.len());
                    done += at;
                }
            }
        }
        assert!(done == bytes.len() && chunks.ended());
        (records, None)
    }

    /// The same by the rules, one byte at a time over all of them.
    fn by_the_rules(bytes: &[u8], dialect: Dialect, longest: usize, window: u64) -> Records {
        let line_end = |at: usize| match bytes[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            _ => 0,
        };
        // Lines from one place to another; what follows the last line end counts if there is any.
        let lines = |from: usize, to: usize, rest: bool| {
            let text = &bytes[from..to];
            let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
            let ends = text.iter().filter(|&&byte| byte == end).count();
            let open = rest && text.last() != Some(&end);
            (ends + usize::from(open)) as u64
        };
        // Of some bytes with a line end: the byte that ends lines, and how many fields each line has.
        let columns = |text: &[u8]| {
            let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
            let ends = text.iter().filter(|&&byte| byte == end).count() as u64;
            let text = text.strip_suffix(&[end]).unwrap_or(text);
            let lines = text.split(|&byte| byte == end);
            let delimiters = |line: &[u8]| line.iter().filter(|&&b| b == dialect.delimiter).count();
            (
                ends,
                lines
                    .map(|line| delimiters(line) + 1)
                    .collect::<Vec<usize>>(),
            )
        };
        let (mut records, mut start, mut fields) = (Vec::new(), 0, None);
        while start < bytes.len() {
            let limit = bytes.len().min(start + longest);
            let over = limit < bytes.len();
            let (mut at, mut first, mut found, mut stray) = (start, None, 1, None);
            let alike = |columns: &[usize], fields: Option<usize>, wrong: bool| {
                let same = columns
                    .iter()
                    .filter(|&&count| Some(count) == fields)
                    .count();
                let rare = b"\t|".contains(&dialect.delimiter);
                dialect.quotes == Quotes::Auto
                    && fields.is_some_and(|fields| fields > 1)
                    && same * 10 >= columns.len() * 9
                    && (wrong
                        || columns.len() as u64
                            >= match fields {
                                _ if rare => 2,
                                Some(2) => window,
                                _ => 8,
                            })
            };
            let mut decided = false;
            // One field after the other.
            let end = 'record: loop {
                if bytes.get(at) == Some(&b'"') && dialect.quotes != Quotes::Never {
                    let open = at;
                    at += 1;
                    let close = loop {
                        match (bytes.get(at), bytes.get(at + 1)) {
                            _ if at >= limit => break None,
                            (Some(b'"'), Some(b'"')) if at + 1 < limit => at += 2,
                            (Some(b'"'), _) if at + 1 >= limit && over => break None,
                            (Some(b'"'), _) => break Some(at),
                            _ => at += 1,
                        }
                    };
                    let Some(close) = close else {
                        stray = Some(if over {
                            (StrayKind::Endless, open, limit)
                        } else {
                            (StrayKind::Unclosed, open, limit)
                        });
                        break 'record 0;
                    };
                    at = close + 1;
                    let spans = bytes[open..close].iter().any(|&byte| is_end(byte));
                    let closes = at == limit || bytes[at] == dialect.delimiter || is_end(bytes[at]);
                    if spans && !closes {
                        stray = Some((StrayKind::Broken, open, close));
                        break 'record 0;
                    }
                    if spans {
                        first = first.or(Some(open));
                    }
                    let (ends, mut columns) = columns(&bytes[start..at]);
                    if let (Some(open), false, true) = (first, decided, ends >= window) {
                        columns.truncate(window as usize);
                        if alike(&columns, fields, Some(found) > fields) {
                            stray = Some((StrayKind::Alike, open, at));
                            break 'record 0;
                        }
                        decided = true;
                    }
                }
                while at < limit && bytes[at] != dialect.delimiter && !is_end(bytes[at]) {
                    at += 1;
                }
                if at < limit && bytes[at] == dialect.delimiter {
                    (at, found) = (at + 1, found + 1);
                    continue;
                }
                // A CR needs to be seen with what follows.
                if over && (at == limit || (at + 1 == limit && bytes[at] == b'\r')) {
                    return (records, Some(start));
                }
                break at + line_end(at);
            };
            if let (None, Some(open), false) = (stray, first, decided)
                && alike(
                    &columns(&bytes[start..end]).1,
                    fields,
                    Some(found) != fields,
                )
            {
                stray = Some((StrayKind::Alike, open, end));
            }
            let end = match stray {
                None => end,
                Some((_, open, _)) => match (open..limit).find(|&at| is_end(bytes[at])) {
                    Some(at) => (at + line_end(at)).min(limit),
                    None if over => return (records, Some(start)),
                    None => limit,
                },
            };
            if fields.is_none() && line_end(start) == 0 {
                fields = Some(csv::count_fields(&bytes[start..end], dialect));
            }
            let stray = stray.map(|(kind, open, last)| {
                (kind, lines(start, open, false), lines(open, last, true))
            });
            records.push((end, stray));
            start = end;
        }
        (records, None)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..Default::default() })]

        /// Any cut gives the records that the rules name, with any limit.
        #[test]
        fn records_do_not_depend_on_chunks(
            parts in proptest::collection::vec(prop::sample::select(vec![
                "a", "b", ",", "\t", "\"", "\"\"", "\n", "\r\n", "\r", "a,b\n", "a\tb\n", ",\"", "\t\"", "\",", "\"\n",
                "a,b\na,b\na,b\na,b\na,b\na,b\na,b\n", "a\"\t\"b\n", "a\",\"b\n", "\",\"\r",
            ]), 0..40),
            chunk in 16usize..80,
            longest in prop::sample::select(vec![16usize, 17, 40, 1000]),
            window in prop::sample::select(vec![8u64, 9, 64]),
            quotes in prop::sample::select(vec![Quotes::Auto, Quotes::Always, Quotes::Never]),
            delimiter in prop::sample::select(b",\t".to_vec()),
        ) {
            let bytes = ["x,y\n", "x\ty\n"][usize::from(delimiter == b'\t')].to_string() + &parts.concat();
            let dialect = dialect(delimiter, quotes);
            let expected = by_the_rules(bytes.as_bytes(), dialect, longest, window);
            prop_assert_eq!(&read(bytes.as_bytes(), dialect, chunk, longest, window), &expected);
            prop_assert_eq!(&read(bytes.as_bytes(), dialect, 1 << 20, longest, window), &expected);
        }
    }

    /// A record as long as the limit, a byte shorter or longer, at the end of what was read and of the
    /// file, or before it.
    #[test]
    fn records_as_long_as_the_limit() {
        let longest = 20;
        for length in longest - 1..=longest + 1 {
            for (head, tail) in [
                ("\"", ""),
                ("\"a\nb", ""),
                ("\"a\nb", "\""),
                ("\"a\r", "\"\r"),
                ("", "\n"),
            ] {
                let fill = "x".repeat(length - head.len() - tail.len());
                for after in ["", "a,b\n", "\"\n"] {
                    let text = ["a,b\nc,d\n", head, &fill, tail, after].concat();
                    for quotes in [Quotes::Auto, Quotes::Never] {
                        let dialect = dialect(b',', quotes);
                        let expected = by_the_rules(text.as_bytes(), dialect, longest, WINDOW);
                        for chunk in 16..text.len() + 2 {
                            let found = read(text.as_bytes(), dialect, chunk, longest, WINDOW);
                            assert_eq!(found, expected, "{text:?} in {chunk}");
                        }
                    }
                }
            }
        }
    }

    /// Whatever quotes open, close and open again, each byte is looked at a bounded number of times.
    #[test]
    fn looking_ahead_is_linear() {
        const LINES: usize = 6000;
        let chain = "a\"\tb\t\"c\n";
        let far = [chain.repeat(60), "1\tplain\tx\n".repeat(3000)].concat();
        for (line, times) in [
            ("1\tplain\tx\n", LINES),
            ("1\t\"\"\tx\n", LINES),
            ("1\t\"q\"\tx\n", LINES),
            ("1\t\"\"\"q\tx\n", LINES),
            (chain, LINES),
            ("\"a\"\tb\t\"c\n", LINES),
            ("\tb\"\t\"\n", LINES),
            (&far, 2),
        ] {
            for (last, crs) in [
                ("", false),
                ("\"\n", false),
                ("x\t\"\n", false),
                ("\"\n", true),
            ] {
                let mut text = "id\ttext\tz\n1\t\"open\tx\n".to_string();
                text += &line.repeat(times);
                text += last;
                if crs {
                    text = text.replace('\n', "\r");
                }
                for (quotes, longest) in [Quotes::Auto, Quotes::Always, Quotes::Never]
                    .into_iter()
                    .flat_map(|quotes| [(quotes, text.len() / 2), (quotes, text.len() * 2)])
                {
                    LOOKED.set(0);
                    let dialect = dialect(b'\t', quotes);
                    let records = read(text.as_bytes(), dialect, 1 << 12, longest, WINDOW);
                    let times = LOOKED.get() / text.len();
                    assert!(
                        times <= 4 * WINDOW as usize,
                        "{line:?} to {last:?}, {quotes}: {times} times"
                    );
                    // Where quotes are doubted, not even the longest chain ends the run.
                    assert!(
                        quotes != Quotes::Auto || records.1.is_none(),
                        "{line:?} to {last:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_line_of_json_has_a_limit() {
        for longest in [20, 33, 64] {
            for (length, fits) in [(longest - 1, true), (longest, true), (longest + 1, false)] {
                for end in ["\n", "\n{}", ""] {
                    let text = format!("{{}}\n{}{end}", "x".repeat(length - end.len().min(1)));
                    let dialect = dialect(b',', Quotes::Auto);
                    let mut chunks = chunks(text.as_bytes(), Format::JsonLines, dialect, 16);
                    chunks.longest = longest;
                    let mut bytes = Vec::new();
                    let result = loop {
                        match chunks.next() {
                            Ok(Some(chunk)) => bytes.extend(chunk.bytes),
                            Ok(None) => break Ok(()),
                            Err(error) => break Err(error.to_string()),
                        }
                    };
                    if fits {
                        assert_eq!((result, bytes), (Ok(()), text.into_bytes()));
                    } else {
                        let error = result.unwrap_err();
                        assert!(
                            error.starts_with("x, line 2: the record has more"),
                            "{error}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_for_excel() {
        for (text, expected) in [
            ("sep=;\r\na", Some((b';', 7))),
            ("sep=\t\na", Some((b'\t', 6))),
            ("SEP=|\ra", Some((b'|', 6))),
            ("\"sep=,\"\na", Some((b',', 8))),
            ("sep=;", Some((b';', 5))),
            ("sep=;;\n", None),
            ("sep=\n", None),
            ("sep=\"\n", None),
            ("\"sep=;\n", None),
            ("sep,x\n", None),
            ("se", None),
            ("", None),
        ] {
            let found = separator(text.as_bytes()).map(|(delimiter, bytes)| (delimiter.0, bytes));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
