//! The same documents give the same table, whatever the format, compression, order, cut and threads.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use source_helpers::*;
use twinfold_io::source::{Place, Table};

fn documents() -> Vec<Doc> {
    let mut docs = vec![
        doc(
            "quoted",
            Some("a \"b\" c"),
            "line one\nline two, \"quoted\"\r\nthree",
        ),
        doc("null-word", Some("null"), "NA"),
        doc("empty", Some("t"), ""),
        doc(
            "unicode",
            Some("Überschrift"),
            "中文 日本語 한국어 العربية हिन्दी 🎉 e\u{301} \u{feff}x\u{200b}y",
        ),
        doc("nul", Some("n"), "a\0b"),
        doc("cr", Some("c"), "a\rb"),
        doc("commas", Some(",,"), ",;\t|,"),
        doc("backslash", Some("\\"), "\\n \\u0041 \u{1f} \u{7f}"),
        doc("long", Some("l"), &"word ".repeat(30_000)),
    ];
    docs.extend((0..40).map(|i| {
        doc(
            &format!("n{i:03}"),
            Some(&format!("title {i}")),
            &format!("body of {i}"),
        )
    }));
    docs
}

/// All that a table says, but for places.
fn content(table: &Table) -> Vec<(String, Option<String>, String)> {
    (0..table.len())
        .map(|r| {
            (
                table.id(r).into(),
                table.title(r).map(String::from),
                table.text(r).into(),
            )
        })
        .collect()
}

#[test]
fn every_format_gives_the_same_table() {
    let mut expected = documents();
    expected.sort();
    for ending in ENDINGS {
        let folder = tempfile::tempdir().unwrap();
        let path = write(
            folder.path(),
            &format!("x.{ending}"),
            bytes(ending, &documents()),
        );
        let table = read(&path).unwrap();
        assert_eq!(content(&table), expected, "{ending}");
        assert!(table.rejected().is_empty());
        assert_eq!(
            (table.id_column(), table.text_column()),
            (Some("doc_id"), Some("body"))
        );
        assert_eq!(
            table.column_names(),
            ["doc_id", "title", "body"],
            "{ending}"
        );
        assert!(
            table
                .schema()
                .fields()
                .iter()
                .all(|f| *f.data_type() == arrow_schema::DataType::Utf8)
        );
        assert!(table.has_title() && !table.has_source() && !table.has_date());
    }
}

#[test]
fn order_cut_and_threads_do_not_matter() {
    for ending in ENDINGS {
        let docs: Vec<Doc> = documents().into_iter().filter(|d| d.0 != "empty").collect();
        let folder = tempfile::tempdir().unwrap();
        let whole = write(folder.path(), &format!("x.{ending}"), bytes(ending, &docs));
        let expected = gather(&read(&whole).unwrap());
        // A fixed shuffle, in seven files.
        let mut shuffled = docs.clone();
        shuffled.sort_by_key(|d| {
            d.0.bytes()
                .fold(7u32, |h, b| h.wrapping_mul(31).wrapping_add(b.into()))
        });
        assert_ne!(shuffled, docs);
        let parts = folder.path().join("parts");
        std::fs::create_dir(&parts).unwrap();
        for (i, part) in shuffled.chunks(docs.len().div_ceil(7)).enumerate() {
            write(&parts, &format!("{i}.{ending}"), bytes(ending, part));
        }
        for threads in [1, 2, 5] {
            let (table, work) = read_with(options(&[&parts]), threads).unwrap();
            assert_eq!(table.file_hashes().len(), 7);
            assert_eq!(gather(&table), expected, "{ending}");
            for rank in 0..table.len() {
                assert!(table.origin(rank).0 < work.len());
            }
        }
    }
}

#[test]
fn formats_mix() {
    let folder = tempfile::tempdir().unwrap();
    for (part, ending) in documents().chunks(8).zip(ENDINGS) {
        write(folder.path(), &format!("x.{ending}"), bytes(ending, part));
    }
    let (table, _) = read_with(options(&[folder.path()]), 2).unwrap();
    let mut expected = documents();
    expected.sort();
    assert_eq!(content(&table), expected);
}

#[test]
fn batches_and_chunks_end_where_they_should() {
    for rows in [1, 8191, 8192, 8193, 20_000] {
        let docs: Vec<Doc> = (0..rows)
            .map(|i| doc(&format!("{i:06}"), Some("t"), &format!("x{i}")))
            .collect();
        for ending in ["csv", "jsonl", "jsonl.gz", "parquet"] {
            let folder = tempfile::tempdir().unwrap();
            let bytes = if ending == "parquet" {
                big_group(&docs)
            } else {
                bytes(ending, &docs)
            };
            let path = write(folder.path(), &format!("x.{ending}"), bytes);
            let (one, _) = read_with(options(&[&path]), 1).unwrap();
            let (two, _) = read_with(options(&[&path]), 2).unwrap();
            assert_eq!(one.len(), rows);
            assert_eq!(gather(&one), gather(&two));
            for rank in 0..rows {
                let place = match ending {
                    "csv" => Place::Line(rank as u64 + 2),
                    "parquet" => Place::Row(rank as u64 + 1),
                    _ => Place::Line(rank as u64 + 1),
                };
                assert_eq!(one.place(rank).1, place);
                assert_eq!(one.origin(rank), two.origin(rank));
            }
        }
    }
}

fn big_group(docs: &[Doc]) -> Vec<u8> {
    let column = |f: &dyn Fn(&Doc) -> &str| -> arrow_array::ArrayRef {
        std::sync::Arc::new(
            docs.iter()
                .map(|d| Some(f(d)))
                .collect::<arrow_array::StringArray>(),
        )
    };
    let batch = arrow_array::RecordBatch::try_from_iter([
        ("doc_id", column(&|d| &d.0)),
        ("title", column(&|d| d.1.as_deref().unwrap())),
        ("body", column(&|d| &d.2)),
    ]);
    parquet(&[batch.unwrap()], 1 << 20)
}

#[test]
fn records_longer_than_a_chunk() {
    const MIB: usize = 1 << 20;
    for len in [MIB - 40, MIB - 1, MIB, MIB + 1, 2 * MIB, 10 * MIB] {
        let docs = [
            doc("a", Some("t"), "first"),
            doc("b", Some("t"), &"x\"\n".repeat(len / 3)),
            doc("c", Some("t"), &"y".repeat(len)),
            doc("d", Some("t"), "last"),
        ];
        for ending in ["csv", "csv.gz", "jsonl", "json.zst", "parquet"] {
            let folder = tempfile::tempdir().unwrap();
            let path = write(folder.path(), &format!("x.{ending}"), bytes(ending, &docs));
            assert_eq!(content(&read(&path).unwrap()), docs, "{ending} {len}");
        }
    }
}

/// Line ends, quotes and multi-byte characters at every place around the end of the first chunk.
#[test]
fn chunk_borders() {
    for shift in 0..64 {
        let fill = (1 << 20) - 60 + shift;
        let header = "doc_id,body\r\n";
        let text = format!(
            "{header}a,{}\r\nb,\"x\r\n\"\"é\"\"\"\r\nc,\u{1f389}\r\rd,z\r\n",
            "f".repeat(fill - header.len())
        );
        let folder = tempfile::tempdir().unwrap();
        let table = read(&write(folder.path(), "x.csv", &text)).unwrap();
        let bodies: Vec<_> = (1..4).map(|rank| table.text(rank)).collect();
        assert_eq!(bodies, ["x\r\n\"é\"", "\u{1f389}", "z"]);
        let places: Vec<_> = (0..4).map(|rank| table.place(rank).1).collect();
        assert_eq!(places, [2, 3, 5, 7].map(Place::Line), "{shift}");
    }
}

#[test]
fn nothing_in_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.csv", ""),
        ("b.jsonl", ""),
        ("c.csv", "doc_id,body\n"),
        ("d.csv", "doc_id,body"),
        ("e.csv", "\n\r\n\n"),
        ("f.jsonl", "\n \n\r\n"),
        ("g.csv", "\u{feff}"),
        ("h.csv", "\u{feff}doc_id,body\r\n"),
    ] {
        let path = write(folder.path(), name, text);
        let table = read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((table.len(), table.read()), (0, 0), "{name}");
        assert_eq!(table.gather(&[]).unwrap().num_rows(), 0);
        let names = table.column_names();
        assert!(names.is_empty() || names == ["doc_id", "body"]);
    }
    let path = write(folder.path(), "i.parquet", bytes("parquet", &[]));
    assert_eq!(
        read(&path).unwrap().column_names(),
        ["doc_id", "title", "body"]
    );
    // Files without a document beside one with some change nothing.
    write(folder.path(), "j.csv", "doc_id,body\n1,x\n");
    let table = read_with(options(&[folder.path()]), 2).unwrap().0;
    assert_eq!(table.len(), 1);
}

#[test]
fn hashes_are_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let empty = write(folder.path(), "a.csv", "");
    let table = read(&empty).unwrap();
    assert_eq!(
        table.file_hashes()[0].sha256,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    for ending in ENDINGS {
        let bytes = bytes(ending, &documents());
        let path = write(folder.path(), &format!("b.{ending}"), &bytes);
        let table = read(&path).unwrap();
        use sha2::Digest;
        let digest: String = sha2::Sha256::digest(&bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(table.file_hashes()[0].sha256, digest, "{ending}");
        assert_eq!(table.file_hashes()[0].bytes, bytes.len() as u64);
        assert_eq!(table.file_hashes()[0].documents, 49);
    }
}
