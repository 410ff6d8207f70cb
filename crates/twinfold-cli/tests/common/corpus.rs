//! Documents with planted duplicates, and the same documents in every format.

use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// A document, by the columns of [`HEADER`].
pub(crate) type Record = [String; 7];

/// In the order in which a table of JSON Lines has them, so that every format gives the same table.
pub(crate) const HEADER: [&str; 7] = [
    "doc_id",
    "source",
    "domain",
    "crawled_at",
    "title",
    "body",
    "note",
];

/// Where [`Record`] has the text.
pub(crate) const BODY: usize = 5;

/// Numbers that look random and are always the same (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// A text of words that hardly ever meets another by chance.
pub(crate) fn text(numbers: &mut Numbers, words: usize) -> String {
    let words: Vec<String> = (0..words)
        .map(|_| format!("word{}", numbers.below(4000)))
        .collect();
    words.join(" ")
}

/// The same text with one word changed.
pub(crate) fn edited(text: &str, numbers: &mut Numbers) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let at = numbers.below(words.len());
    words[at] = "changed";
    words.join(" ")
}

/// `families` groups of documents: one to three copies of a text, some in capitals, some with a word
/// changed, some of another family's beginning; now and then an empty or a very short one.
pub(crate) fn corpus(families: usize) -> Vec<Record> {
    let mut numbers = Numbers(7);
    let mut records = Vec::new();
    let mut before = text(&mut numbers, 50);
    for family in 0..families {
        let words = 30 + numbers.below(60);
        let mut base = text(&mut numbers, words);
        match family % 16 {
            3 => base = " \t".into(),
            5 => base = "!!! ... ???".into(),
            7 => base = format!("short {family}"),
            9 => base = format!("{before} {base}"),
            11 => base = format!("\u{4f60}\u{597d}, \"{base}\"\nand, a second line\r\n{family}"),
            _ => {}
        }
        for copy in 0..1 + family % 3 {
            let body = match (copy, family % 5) {
                (0, _) => base.clone(),
                (_, 0) => base.to_uppercase(),
                (1, _) => edited(&base, &mut numbers),
                _ => base.clone(),
            };
            let number = records.len();
            records.push([
                format!("{:08x}", numbers.next() >> 32),
                ["curated", "web", "forum"][number % 3].into(),
                format!("site{}.example", numbers.below(9)),
                match number % 7 {
                    0 => String::new(),
                    1 => "not a date".into(),
                    day => format!("2024-0{}-1{day}T00:00:00Z", 1 + number % 9),
                },
                format!("Title {}", family / 2),
                body,
                ["", "NA", "null", "a \"quoted\" note", "x"][number % 5].into(),
            ]);
        }
        before = base;
    }
    records.sort();
    records.dedup_by(|a, b| a[0] == b[0]);
    numbers.shuffle(&mut records);
    records
}

/// The records as the bytes of a file with this ending, such as `csv` or `jsonl.gz`.
pub(crate) fn encode(ending: &str, records: &[Record]) -> Vec<u8> {
    let (format, compression) = ending.split_once('.').unwrap_or((ending, ""));
    let plain = match format {
        "csv" | "tsv" => separated(if format == "csv" { b',' } else { b'\t' }, records),
        "jsonl" | "ndjson" | "json" => lines(records),
        "parquet" | "pq" => parquet(records),
        other => panic!("no format {other}"),
    };
    compress(compression, &plain)
}

/// `gz`, `zst` or nothing.
pub(crate) fn compress(compression: &str, plain: &[u8]) -> Vec<u8> {
    match compression {
        "" => plain.to_vec(),
        "gz" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        "zst" => zstd::encode_all(plain, 1).unwrap(),
        other => panic!("no compression {other}"),
    }
}

fn separated(delimiter: u8, records: &[Record]) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new()
        .delimiter(delimiter)
        .from_writer(Vec::new());
    writer.write_record(HEADER).unwrap();
    for record in records {
        writer.write_record(record).unwrap();
    }
    writer.into_inner().unwrap()
}

fn lines(records: &[Record]) -> Vec<u8> {
    let mut lines = Vec::new();
    for record in records {
        let object: serde_json::Map<String, serde_json::Value> = HEADER
            .iter()
            .zip(record)
            .map(|(name, value)| ((*name).to_owned(), value.as_str().into()))
            .collect();
        writeln!(lines, "{}", serde_json::Value::Object(object)).unwrap();
    }
    lines
}

fn parquet(records: &[Record]) -> Vec<u8> {
    let column = |at: usize| -> ArrayRef {
        Arc::new(
            records
                .iter()
                .map(|record| Some(record[at].as_str()))
                .collect::<StringArray>(),
        )
    };
    let columns = HEADER
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, column(at)));
    parquet_file(&RecordBatch::try_from_iter(columns).unwrap(), 100)
}

/// A Parquet file of a batch, with row groups of so many rows.
pub(crate) fn parquet_file(batch: &RecordBatch, group: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}
