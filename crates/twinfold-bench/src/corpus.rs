//! Generated corpora: near-duplicates among random texts, and the hard cases of near-duplicate search.
//!
//! All are seeded: the same name and size give the same bytes.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// SplitMix64: small, seeded and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A word by its rank: common words are short, as in real text.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu",
        "za",
    ];
    let mut text = String::new();
    let mut rest = rank + 1;
    while rest > 0 {
        text.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    text
}

/// Words whose ranks fall off about as one over the rank.
fn words(random: &mut Random, count: u64) -> Vec<String> {
    (0..count)
        .map(|_| word((50_000f64.powf(random.unit()) - 1.0) as u64))
        .collect()
}

/// A kind of generated corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Random texts of some dozen to some thousand words; a tenth are near-duplicates, which copy one
    /// of the last thousand and change up to one word in twenty.
    Mixed,
    /// Copies of one page.
    Copies,
    /// One page, each with a word of its own.
    NearCopies,
    /// Pages of one template, any two of which have a Jaccard similarity of 0.65.
    Template,
    /// Random texts, nine of ten with one shingle in common.
    CommonShingle,
    /// Random texts and one of 200 MB.
    Giant,
    /// Texts of six random words.
    SixWords,
}

impl Kind {
    /// Hands `documents` texts to `take`.
    fn generate<E>(
        self,
        documents: usize,
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut random = Random(42);
        match self {
            Self::Mixed => mixed(&mut random, documents, 0.1, take),
            Self::Copies => {
                let page = words(&mut random, 400).join(" ");
                (0..documents).try_for_each(|_| take(&page))
            }
            Self::NearCopies => {
                let mut page = words(&mut random, 400);
                (0..documents as u64).try_for_each(|number| {
                    let at = random.below(page.len() as u64) as usize;
                    let before = std::mem::replace(&mut page[at], format!("own{number}"));
                    let text = page.join(" ");
                    page[at] = before;
                    take(&text)
                })
            }
            Self::Template => {
                // 396 shingles of the template beside 106 of a page's own: 396 / 608 = 0.651.
                let template = words(&mut random, 400).join(" ");
                (0..documents as u64).try_for_each(|number| {
                    let own: Vec<String> = (0..106).map(|at| format!("own{number}x{at}")).collect();
                    take(&format!("{template} {}", own.join(" ")))
                })
            }
            Self::CommonShingle => (0..documents).try_for_each(|_| {
                let mut text = words(&mut random, 200).join(" ");
                if random.below(10) > 0 {
                    text.push_str(" all rights reserved worldwide forever");
                }
                take(&text)
            }),
            Self::Giant => {
                mixed(&mut random, documents.saturating_sub(1), 0.1, &mut take)?;
                let mut giant = String::new();
                while giant.len() < 200 << 20 {
                    giant.push_str(&words(&mut random, 1000).join(" "));
                    giant.push(' ');
                }
                take(&giant)
            }
            Self::SixWords => {
                (0..documents).try_for_each(|_| take(&words(&mut random, 6).join(" ")))
            }
        }
    }
}

fn mixed<E>(
    random: &mut Random,
    documents: usize,
    duplicates: f64,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut recent: Vec<Vec<String>> = Vec::new();
    for _ in 0..documents {
        let mut text;
        if !recent.is_empty() && random.unit() < duplicates {
            let original = random.below(recent.len() as u64) as usize;
            text = recent[original].clone();
            let changes = random.below(text.len() as u64 / 20 + 1);
            for _ in 0..changes {
                let at = random.below(text.len() as u64) as usize;
                text[at] = word(random.below(50_000));
            }
        } else {
            // From a few dozen words to some thousand.
            let length = (30.0 * 60f64.powf(random.unit())) as u64;
            text = words(random, length);
            if recent.len() < 1000 {
                recent.push(text.clone());
            } else {
                let at = random.below(1000) as usize;
                recent[at] = text.clone();
            }
        }
        take(&text.join(" "))?;
    }
    Ok(())
}

/// Writes a corpus as JSON Lines.
pub(crate) fn write_jsonl(kind: Kind, documents: usize, out: &mut impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut number = 0;
    kind.generate(documents, |text| {
        writeln!(
            out,
            "{{\"doc_id\":\"doc-{number:09}\",\"source\":\"source-{}\",\"body\":\"{text}\"}}",
            number % 8,
        )?;
        number += 1;
        Ok::<(), io::Error>(())
    })?;
    out.flush()
}

/// Writes a corpus of a kind as Parquet.
pub(crate) fn write_parquet(
    kind: Kind,
    documents: usize,
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    write_texts(path, |take| kind.generate(documents, take))
}

/// Writes the texts of a Parquet file over and over as another, up to so many bytes of text: each
/// time with another word in the place of one in fifty.
pub(crate) fn write_edited(from: &Path, bytes: u64, path: &Path) -> Result<(), Box<dyn Error>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(from)?)?.build()?;
    let mut texts: Vec<String> = Vec::new();
    for batch in reader {
        let batch = batch?;
        let column = batch
            .column_by_name("body")
            .and_then(|column| column.as_string_opt::<i32>())
            .ok_or("there is no column body of strings")?;
        texts.extend(column.iter().flatten().map(str::to_owned));
    }
    write_texts(path, |take| {
        let mut random = Random(42);
        let mut written = 0;
        let mut edited = String::new();
        for round in 0.. {
            for text in &texts {
                edited.clear();
                for piece in text.split_inclusive(' ') {
                    if round > 0 && random.below(50) == 0 {
                        edited.push_str(&word(random.below(50_000)));
                        edited.push(' ');
                    } else {
                        edited.push_str(piece);
                    }
                }
                take(&edited)?;
                written += edited.len() as u64;
                if written >= bytes {
                    return Ok(());
                }
            }
            if written == 0 {
                return Err("there is no text to repeat".into());
            }
        }
        Ok(())
    })
}

/// Hands texts to the function that it is given.
type Take<'a> = &'a mut dyn FnMut(&str) -> Result<(), Box<dyn Error>>;

/// Writes texts as Parquet, compressed as most files are.
fn write_texts(
    path: &Path,
    generate: impl FnOnce(Take<'_>) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    /// Text of a row group.
    const BYTES: usize = 32 << 20;
    let batch = |first: usize, texts: &[String]| -> Result<RecordBatch, Box<dyn Error>> {
        let numbers = first..first + texts.len();
        let ids = numbers.clone().map(|number| format!("doc-{number:09}"));
        let sources = numbers.map(|number| format!("source-{}", number % 8));
        Ok(RecordBatch::try_from_iter([
            (
                "doc_id",
                Arc::new(StringArray::from_iter_values(ids)) as ArrayRef,
            ),
            ("source", Arc::new(StringArray::from_iter_values(sources))),
            ("body", Arc::new(StringArray::from_iter_values(texts))),
        ])?)
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let schema = batch(0, &[])?.schema();
    let mut writer = ArrowWriter::try_new(File::create(path)?, schema, Some(properties))?;
    let (mut first, mut texts, mut bytes) = (0, Vec::new(), 0);
    generate(&mut |text| {
        bytes += text.len();
        texts.push(text.to_owned());
        if bytes >= BYTES {
            writer.write(&batch(first, &texts)?)?;
            writer.flush()?;
            first += texts.len();
            texts.clear();
            bytes = 0;
        }
        Ok(())
    })?;
    writer.write(&batch(first, &texts)?)?;
    writer.close()?;
    Ok(())
}
