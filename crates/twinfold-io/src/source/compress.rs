//! A file as a stream of plain bytes: hashed and counted as it lies on disk, decompressed on the way.
//!
//! Guarantee: gzip with any number of members and Zstandard with any number of frames are read to
//! their end, with their checksums; one that is cut short anywhere but between two members or frames
//! ends in an error, never in fewer bytes. A compressed file of 0 bytes is cut short too.
//! Cost: one pass over the file; SHA-256 adds about a second a gigabyte.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};

use super::InputFile;

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, of one or many members.
    Gzip,
    /// Zstandard, of one or many frames.
    Zstd,
}

impl Compression {
    /// The program that can check such a file.
    pub(super) fn tool(self) -> &'static str {
        match self {
            Self::None => "cat",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn by_magic(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The most bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// A buffer for a file of this size, with room for the read that finds its end: ten thousand small
/// files must not cost ten thousand large buffers.
fn buffer_size(bytes: u64) -> usize {
    usize::try_from(bytes)
        .unwrap_or(BUFFER)
        .clamp(4 << 10, BUFFER - 1)
        + 1
}

/// The compression that the first bytes of a regular file tell.
pub(super) fn sniff(path: &Path) -> io::Result<Compression> {
    let mut head = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut head)?;
    Ok(Compression::by_magic(&head))
}

/// The bytes of a file as they lie on disk, counted and hashed.
struct Raw {
    inner: Box<dyn Read + Send>,
    hash: Option<Sha256>,
    bytes: u64,
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[..n]);
        }
        self.bytes += n as u64;
        Ok(n)
    }
}

enum Decoder {
    Plain(BufReader<Raw>),
    Gzip(Box<GzDecoder<BufReader<Raw>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<Raw>>>),
}

/// Reads the members of a gzip file one after the other. Zeros after a member, with which some writers
/// and tapes fill up a block, are passed over, as `gzip` does.
fn read_members(member: &mut GzDecoder<BufReader<Raw>>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        let n = member.read(buffer)?;
        if n > 0 || buffer.is_empty() || !skip_zeros(member.get_mut())? {
            return Ok(n);
        }
        let nothing = Raw {
            inner: Box::new(io::empty()),
            hash: None,
            bytes: 0,
        };
        let raw = std::mem::replace(member.get_mut(), BufReader::with_capacity(0, nothing));
        member.reset(raw);
    }
}

/// Whether anything follows but zeros, which are taken.
fn skip_zeros(raw: &mut BufReader<Raw>) -> io::Result<bool> {
    loop {
        let bytes = raw.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let (end, other) = (bytes.is_empty(), zeros < bytes.len());
        raw.consume(zeros);
        if end || other {
            return Ok(other);
        }
    }
}

/// An input file, decompressed.
pub(super) struct Stream {
    decoder: Decoder,
    /// How the file turned out to be compressed; of a pipe it is known only now.
    pub(super) compression: Compression,
}

impl Stream {
    /// Opens the file; `hashed` when the whole of it will be read and its hash is wanted.
    pub(super) fn open(file: &InputFile, hashed: bool) -> io::Result<Self> {
        let mut inner: Box<dyn Read + Send> = match &file.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin()),
        };
        let mut compression = file.compression;
        if !file.regular {
            // A pipe may hand out its first bytes one by one.
            let mut head = Vec::new();
            inner.by_ref().take(4).read_to_end(&mut head)?;
            if compression == Compression::None {
                compression = Compression::by_magic(&head);
            }
            inner = Box::new(io::Cursor::new(head).chain(inner));
        }
        let raw = Raw {
            inner,
            hash: hashed.then(Sha256::new),
            bytes: 0,
        };
        let buffer = if file.regular {
            buffer_size(file.bytes)
        } else {
            BUFFER
        };
        let mut raw = BufReader::with_capacity(buffer, raw);
        if compression != Compression::None && raw.fill_buf()?.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file has 0 bytes",
            ));
        }
        let decoder = match compression {
            Compression::None => Decoder::Plain(raw),
            Compression::Gzip => Decoder::Gzip(Box::new(GzDecoder::new(raw))),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
                // Files written with `--long` need a larger window than the default lets pass.
                decoder.window_log_max(31)?;
                Decoder::Zstd(Box::new(decoder))
            }
        };
        Ok(Self {
            decoder,
            compression,
        })
    }

    fn raw(&self) -> &Raw {
        match &self.decoder {
            Decoder::Plain(reader) => reader.get_ref(),
            Decoder::Gzip(decoder) => decoder.get_ref().get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }

    /// How many bytes of the file, as it lies on disk, have been taken.
    pub(super) fn taken(&self) -> u64 {
        self.raw().bytes
    }

    /// The SHA-256 of what has been taken, in hexadecimal; empty unless it was opened hashed.
    pub(super) fn sha256(&self) -> String {
        self.raw()
            .hash
            .as_ref()
            .map_or_else(String::new, |hash| hex(&hash.clone().finalize()))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.decoder {
            Decoder::Plain(reader) => reader.read(buffer),
            Decoder::Gzip(decoder) => read_members(decoder, buffer),
            Decoder::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

/// Size and SHA-256 of a file as it lies on disk.
pub fn sha256(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; buffer_size(file.metadata()?.len())];
    loop {
        let n = match file.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hex(&hash.finalize()))),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..n]);
        bytes += n as u64;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
