//! How much memory a run may take, and how it is shared out.
//!
//! The bound is on the pages that are resident for the process. What the system keeps of its files in a
//! cache is not counted: it takes that back when it needs it. Of the bound, some is taken whatever the texts
//! are: for the program and what its threads are at, and for each document. The rest is shared between
//! the documents and their shingles, which go to files once they are about half of the bound, and
//! what grows with the pairs.

use std::fmt;

use bytesize::ByteSize;
use indicatif::{HumanBytes, HumanCount};
use twinfold::config::{Candidates, Config};
use twinfold::text::Tokenizer;
use twinfold_io::publish::{PublishSet, Relation};
use twinfold_io::source::Table;

use crate::fault::Fault;

/// The share of the machine's memory that is taken where nothing is said.
pub(crate) const DEFAULT: &str = "70%";

/// The least bound: a thread at work, and the program.
const LEAST: u64 = 256 << 20;

/// The program, and threads at work.
const PROGRAM: u64 = 64 << 20;

/// A row group that is written, in all its forms.
const WRITING: u64 = 96 << 20;

/// A thread that reads: a batch of texts in several forms.
const READER: u64 = 80 << 20;

fn reader(config: &Config) -> u64 {
    match config.tokenizer {
        // Five times as many shingles.
        Tokenizer::Chars => 3 * READER,
        _ => READER,
    }
}

/// What is stated: bytes, or a share of what there is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stated {
    Bytes(u64),
    Share(f64),
}

/// The bound of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    bytes: u64,
}

fn stated(text: &str) -> Result<Stated, Fault> {
    let wrong = || {
        Fault::new(format!("{text:?} is no amount of memory"))
            .hint("write bytes, such as 2GB or 512MiB, or a share of the machine's, such as 50%")
    };
    match text.trim().strip_suffix('%') {
        Some(share) => match share.trim().parse::<f64>() {
            Ok(share) if share > 0.0 && share <= 100.0 => Ok(Stated::Share(share / 100.0)),
            _ => Err(wrong()),
        },
        None => {
            let bytes: ByteSize = text.trim().parse().map_err(|_| wrong())?;
            Ok(Stated::Bytes(bytes.as_u64()))
        }
    }
}

/// Checks what was written.
pub(crate) fn check(text: &str) -> Result<(), Fault> {
    match stated(text)? {
        Stated::Bytes(bytes) if bytes < LEAST => Err(Fault::new(format!(
            "--memory {text} is {}, less than a run can do with",
            HumanBytes(bytes)
        ))
        .hint(format!("allow at least --memory {}MiB", LEAST >> 20))),
        _ => Ok(()),
    }
}

/// The memory that the process can have: what the machine has, or its control group.
fn available() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let machine = system.total_memory();
    let limit = system.cgroup_limits().map(|limits| limits.total_memory);
    let bytes = limit.map_or(machine, |limit| limit.min(machine));
    (bytes > 0).then_some(bytes)
}

impl Memory {
    /// The bound that `text` states.
    pub(crate) fn new(text: &str) -> Result<Self, Fault> {
        let bytes = match stated(text)? {
            Stated::Bytes(bytes) => bytes,
            Stated::Share(share) => {
                let available = available().ok_or_else(|| {
                    Fault::new("cannot tell how much memory the machine has")
                        .hint("say how much a run may take, such as --memory 2GB")
                })?;
                ((available as f64 * share) as u64).max(LEAST)
            }
        };
        Ok(Self { bytes })
    }

    /// The bound.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// What documents and their shingles may hold before they go to files.
    pub(crate) fn held(self, config: &Config) -> u64 {
        let apart = PROGRAM + WRITING + (reader(config) - READER);
        self.bytes.saturating_sub(apart) / 2
    }

    /// What may stay of spilled documents.
    pub(crate) fn kept(self) -> u64 {
        (self.bytes / 4 * 3).saturating_sub(PROGRAM)
    }

    /// Threads that may read at a time: each holds a batch of texts in several forms.
    pub(crate) fn readers(self, config: &Config, threads: usize) -> usize {
        ((self.bytes / 3 / reader(config)) as usize).clamp(1, threads)
    }

    /// The longest text, by what it becomes while it is read, shingled and published.
    pub(crate) fn text(self, config: &Config, publish: &PublishSet) -> u64 {
        let times = match (config.tokenizer, publish.contains(Relation::Fingerprinted)) {
            // Each shingle as a string.
            (_, true) => 64,
            // A shingle for each character.
            (Tokenizer::Chars, false) => 32,
            (_, false) => 10,
        };
        self.bytes / times
    }

    /// What grows faster than the documents may take.
    pub(crate) fn room(self) -> u64 {
        self.bytes / 4
    }

    /// What the documents that are being written may take: as much as they like where there is plenty,
    /// which is faster.
    pub(crate) fn writing(self, spilled: bool) -> u64 {
        const PLENTY: u64 = 2 << 30;
        match !spilled && self.bytes >= PLENTY {
            true => u64::MAX,
            false => self.bytes / 4,
        }
    }

    /// What to say if more was taken than was allowed.
    pub(crate) fn excess(self, peak: Option<u64>) -> Option<String> {
        let peak = peak.filter(|&peak| peak > self.bytes / 10 * 11)?;
        Some(format!(
            "the run took {} of memory, more than the {} that it was allowed",
            HumanBytes(peak),
            HumanBytes(self.bytes)
        ))
    }

    /// Says what a run on these documents will need, or that it is too much.
    pub(crate) fn expect(
        self,
        config: &Config,
        documents: &Table,
        spilled: bool,
    ) -> Result<Need, Fault> {
        let fixed = fixed(config, documents);
        if fixed > self.bytes / 4 * 3 {
            return Err(Fault::new(format!(
                "{} documents need about {} of memory beside their texts, which leaves too little of \
                 {} for the rest",
                HumanCount(documents.len() as u64),
                HumanBytes(fixed),
                HumanBytes(self.bytes),
            ))
            .hint(format!(
                "allow --memory {}MiB, or split the corpus",
                (fixed / 3 * 4).div_ceil(1 << 20)
            )));
        }
        Ok(Need {
            least: fixed.max(resident().unwrap_or(0)),
            room: self.room(),
            allowed: self.bytes,
            spilled,
        })
    }
}

/// What a run expects to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    least: u64,
    room: u64,
    allowed: u64,
    spilled: bool,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "memory       {} of {} are taken, and up to {} more may be{}",
            HumanBytes(self.least.min(self.allowed)),
            HumanBytes(self.allowed),
            HumanBytes(self.room.min(self.allowed.saturating_sub(self.least))),
            match self.spilled {
                true => "; texts and shingles are in files",
                false => "",
            }
        )
    }
}

/// The bytes that are kept of each document beside its names, whatever its length.
pub(crate) fn per_document(config: &Config) -> u64 {
    /// Fingerprint, place, class and cluster, and what is sorted to find them.
    const DOCUMENT: u64 = 256;
    let keys = match &config.candidates {
        Candidates::Lossless => 0,
        // A key by class, and with its class by key.
        Candidates::Lsh(lsh) => 24 * lsh.banding.bands() as u64,
        Candidates::Blocking(_) => 64,
    };
    DOCUMENT + keys
}

/// The bytes that are kept of all documents, whatever their length.
fn fixed(config: &Config, documents: &Table) -> u64 {
    let count = documents.len();
    let names = match documents.is_spilled() {
        true => documents.kept_bytes(),
        // The ids of some stand for those of all.
        false => {
            let step = (count / 1000).max(1);
            let some = (0..count).step_by(step);
            let ids: usize = some.clone().map(|rank| documents.id(rank).len()).sum();
            (ids / some.count().max(1) * count) as u64
        }
    };
    PROGRAM + count as u64 * per_document(config) + names
}

/// The most memory that this process has held, where the system says.
pub(crate) fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// The memory that this process holds now, where the system says.
fn resident() -> Option<u64> {
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        assert_eq!(stated("2GB").unwrap(), Stated::Bytes(2_000_000_000));
        assert_eq!(stated(" 512 MiB ").unwrap(), Stated::Bytes(512 << 20));
        assert_eq!(stated("50%").unwrap(), Stated::Share(0.5));
        for text in ["", "0%", "101%", "-1", "many", "2 apples", "NaN%", "%"] {
            assert!(stated(text).is_err(), "{text}");
        }
        assert!(check("1MB").is_err());
        assert!(check("256MiB").is_ok());
        assert!(Memory::new(DEFAULT).unwrap().bytes >= LEAST);
    }

    #[test]
    fn threads_read_while_there_is_room_for_them() {
        let memory = |bytes| Memory { bytes };
        let readers = |bytes, threads| memory(bytes).readers(&Config::default(), threads);
        assert_eq!(readers(LEAST, 64), 1);
        assert_eq!(readers(4 << 30, 2), 2);
        assert!(readers(4 << 30, 64) < 64);
    }
}
