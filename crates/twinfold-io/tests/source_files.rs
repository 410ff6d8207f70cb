//! Bad files and bad names: an error that says which and what to do, never fewer rows.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use source_helpers::*;
use twinfold_io::source::{ColumnNames, Format, Input, SourceError, SourceOptions};

fn docs(n: usize) -> Vec<Doc> {
    (0..n)
        .map(|i| doc(&format!("{i:03}"), Some("t"), &format!("text {i}")))
        .collect()
}

fn error(name: &str, bytes: impl AsRef<[u8]>) -> SourceError {
    let folder = tempfile::tempdir().unwrap();
    let error = read(&write(folder.path(), name, bytes)).unwrap_err();
    assert!(!error.to_string().contains('\n'));
    assert!(error.to_string().contains(name), "{error}");
    error
}

#[test]
fn a_file_cut_short_anywhere_is_noticed() {
    for ending in ["csv.gz", "jsonl.gz", "tsv.zst", "jsonl.zst", "parquet"] {
        let docs = docs(if ending == "parquet" { 20 } else { 60 });
        let whole = bytes(ending, &docs);
        let folder = tempfile::tempdir().unwrap();
        let name = format!("x.{ending}");
        let whole_rows = read(&write(folder.path(), &name, &whole)).unwrap().read();
        assert_eq!(whole_rows, docs.len() as u64);
        for cut in 0..whole.len() {
            let result = read(&write(folder.path(), &name, &whole[..cut]));
            // Between two members or frames a stream is whole; only there can't it be noticed.
            let between = compressed_first_half(ending, &docs) == cut;
            match result {
                Ok(table) => assert!(
                    between,
                    "{ending} cut at {cut} of {}: {} rows",
                    whole.len(),
                    table.read()
                ),
                Err(error) => assert!(error.hint().is_some() && !between, "{error}"),
            }
        }
    }
}

/// The length of the first of the two members.
fn compressed_first_half(ending: &str, docs: &[Doc]) -> usize {
    let plain = bytes(ending.split('.').next().unwrap(), docs);
    let half = &plain[..plain.len() / 2];
    match ending.rsplit('.').next().unwrap() {
        "gz" => gzip(half).len(),
        "zst" => zstd::encode_all(half, 3).unwrap().len(),
        _ => usize::MAX,
    }
}

#[test]
fn damaged_streams_say_after_which_line() {
    let lines: String = (0..200_000)
        .map(|i| {
            format!(
                "{{\"doc_id\":\"{i}\",\"body\":\"{}\"}}\n",
                i * 7919 % 1_000_003
            )
        })
        .collect();
    let mut whole = gzip(lines.as_bytes());
    whole.truncate(whole.len() - 9);
    match error("x.jsonl.gz", &whole) {
        SourceError::Stream { after, .. } => assert!(after > 150_000, "{after}"),
        other => panic!("{other}"),
    }
    // A wrong checksum.
    let mut whole = gzip(lines.as_bytes());
    let at = whole.len() - 7;
    whole[at] ^= 1;
    assert!(matches!(
        error("x.jsonl.gz", &whole),
        SourceError::Stream { .. }
    ));
    assert!(matches!(
        error("x.csv.gz", "doc_id,body\n"),
        SourceError::Stream { .. }
    ));
    assert!(matches!(
        error("x.csv.zst", "doc_id,body\n"),
        SourceError::Stream { .. }
    ));
    assert!(matches!(error("x.csv.gz", ""), SourceError::Stream { .. }));
}

#[test]
fn compression_is_known_by_its_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["csv.gz", "jsonl.zst"] {
        let name = format!("x.{}", ending.split('.').next().unwrap());
        let table = read(&write(folder.path(), &name, bytes(ending, &docs(5)))).unwrap();
        assert_eq!(table.len(), 5);
    }
}

#[test]
fn damaged_parquet() {
    assert!(matches!(
        error("x.parquet", ""),
        SourceError::ParquetEmpty { .. }
    ));
    assert!(matches!(
        error("x.parquet", "doc_id,body\n"),
        SourceError::ParquetFooter { .. }
    ));
    let mut whole = bytes("parquet", &docs(9));
    whole.truncate(whole.len() - 1);
    assert!(matches!(
        error("x.parquet", &whole),
        SourceError::ParquetFooter { .. }
    ));
    assert!(matches!(
        error("x.parquet.gz", gzip(b"x")),
        SourceError::ParquetCompressed { .. }
    ));
}

#[test]
fn texts_that_are_not_utf8() {
    let utf16: Vec<u8> = "\u{feff}doc_id,body\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let big: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let little = error("x.csv", utf16);
    assert!(
        little.to_string().contains("UTF-16 (little-endian)")
            && little.hint().unwrap().contains("iconv")
    );
    assert!(error("x.jsonl", big).to_string().contains("big-endian"));
}

#[test]
fn columns_that_are_missing() {
    let missing = |name: &str, text: &str, columns: ColumnNames, make_ids: bool| {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(&[&write(folder.path(), name, text)]);
        (options.columns, options.make_ids) = (columns, make_ids);
        read_with(options, 2)
            .err()
            .map(|e| (e.to_string(), e.hint().unwrap_or_default()))
    };
    for (name, text) in [
        ("x.csv", "doc_id,boddy\n1,x\n"),
        ("x.jsonl", "{\"doc_id\":1,\"boddy\":\"x\"}\n"),
    ] {
        let (message, hint) = missing(name, text, ColumnNames::default(), false).unwrap();
        assert!(
            message.contains("there is no text column `body` or `text`"),
            "{message}"
        );
        assert!(message.contains("`boddy`") && message.contains("`doc_id`"));
        assert!(hint.contains("did you mean `boddy`"), "{hint}");
        let named = columns("doc_id", "boddy");
        assert_eq!(missing(name, text, named.clone(), false), None);
        let titled = ColumnNames {
            title: Some("titel".into()),
            ..named
        };
        assert!(
            missing(name, text, titled, false)
                .unwrap()
                .0
                .contains("no title column `titel`")
        );
    }
    for (name, text) in [
        ("x.csv", "key,body\n1,x\n"),
        ("x.jsonl", "{\"key\":1,\"body\":\"x\"}\n"),
    ] {
        assert!(
            missing(name, text, ColumnNames::default(), false)
                .unwrap()
                .0
                .contains("no id column `doc_id` or `id`")
        );
        assert_eq!(missing(name, text, ColumnNames::default(), true), None);
    }
    // Broken lines alone say nothing about the columns.
    assert_eq!(
        missing("x.jsonl", "{\n[]\n", ColumnNames::default(), false),
        None
    );
    let (message, _) = missing(
        "x.jsonl",
        "{\"id\":1,\"body\":\"x\"}\n{\"id\":2,\"text\":\"x\"}\n",
        ColumnNames::default(),
        false,
    )
    .unwrap();
    assert!(
        message.contains("either could be the text column"),
        "{message}"
    );
    // Both names in each line: the first goes.
    assert_eq!(
        missing(
            "x.jsonl",
            "{\"id\":1,\"text\":3,\"body\":\"x\"}\n",
            ColumnNames::default(),
            false
        ),
        None
    );
}

#[test]
fn headers() {
    assert!(
        error("x.csv", "doc_id,body,body\n1,x,y\n")
            .to_string()
            .contains("columns 2 and 3 are both called `body`")
    );
    assert!(
        error("x.csv", "doc_id,\"body\n1,x")
            .to_string()
            .contains("never closed")
    );
    assert!(
        error("x.csv", b"doc_id,body,\xff\n")
            .to_string()
            .contains("not valid UTF-8")
    );
    let folder = tempfile::tempdir().unwrap();
    let table = read(&write(folder.path(), "x.csv", "doc_id,,body,\n1,a,b,c\n")).unwrap();
    assert_eq!(
        table.column_names(),
        ["doc_id", "column_2", "body", "column_4"]
    );
}

#[test]
fn ids_missing_and_repeated() {
    assert!(
        error("x.csv", "doc_id,body\na,x\n,y\n")
            .to_string()
            .contains("line 3: the id is null or empty")
    );
    assert!(
        error(
            "x.jsonl",
            "{\"id\":1,\"body\":\"x\"}\n\n{\"id\":null,\"body\":\"x\"}\n"
        )
        .to_string()
        .contains("line 3")
    );
    assert!(
        error("x.jsonl", "{\"body\":\"x\"}\n{\"id\":1,\"body\":\"x\"}\n")
            .to_string()
            .contains("line 1: the id")
    );
    let twice = error("x.csv", "doc_id,body\na,x\nb,y\nb,z\na,w\n").to_string();
    assert!(
        twice.contains("`b` stands twice") && twice.contains("line 3") && twice.contains("line 4"),
        "{twice}"
    );
    assert!(twice.contains("2 repeated ids"));
    // Far beyond a batch, the first in place is still the one reported.
    let mut lines: Vec<String> = (0..30_000)
        .map(|i| format!("{{\"id\":{i},\"body\":\"x\"}}"))
        .collect();
    lines[29_000] = "{\"body\":\"x\"}".into();
    lines[12_345] = "{\"id\":\"\",\"body\":\"x\"}".into();
    for _ in 0..5 {
        assert!(
            error("x.jsonl", lines.join("\n"))
                .to_string()
                .contains("line 12346:")
        );
    }
}

#[test]
fn ids_made() {
    let folder = tempfile::tempdir().unwrap();
    let run = |a: &str, b: &str| {
        let mut options = options(&[
            &write(folder.path(), "a.csv", a),
            &write(folder.path(), "b.csv", b),
        ]);
        options.make_ids = true;
        read_with(options, 2).map(|(table, _)| {
            let column = table.column_values("doc_id").unwrap();
            let ids: Vec<String> = (0..table.len())
                .map(|rank| table.id(rank).to_string())
                .collect();
            let texts = column.into_iter().map(|v| match v {
                twinfold_io::source::ColumnValue::Text(text) => text,
                other => panic!("{other:?}"),
            });
            assert_eq!(texts.collect::<Vec<_>>(), ids);
            ids
        })
    };
    let ids = run("doc_id,body\nx,1\n,2\n1,2,3\ny,3\n,\n", "body\n1\n2\n").unwrap();
    assert_eq!(ids, ["a.csv:2", "a.csv:5", "b.csv:1", "b.csv:2", "x", "y"]);
    let ids = run("doc_id,body\nx,1\nx,2\ny,3\n", "doc_id,body\nx,1\nz,2\n").unwrap();
    assert_eq!(ids, ["x@a.csv:1", "x@a.csv:2", "x@b.csv:1", "y", "z"]);
    let clash = run("doc_id,body\nx,1\nx,2\n", "doc_id,body\nx@a.csv:1,1\n").unwrap_err();
    assert!(
        clash.to_string().contains("`x@a.csv:1` stands twice"),
        "{clash}"
    );
    // Two files of one name are told apart by their paths.
    let (one, two) = (folder.path().join("1"), folder.path().join("2"));
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&two).unwrap();
    let (a, b) = (
        write(&one, "x.csv", "body\n1\n"),
        write(&two, "x.csv", "body\n2\n"),
    );
    let mut options = options(&[&a, &b]);
    options.make_ids = true;
    let table = read_with(options, 1).unwrap().0;
    assert_eq!(table.id(0), format!("{}:1", a.display()));
    assert_eq!(table.column_names(), ["doc_id", "body"]);
}

#[test]
fn files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in [
        "b.csv",
        "a.jsonl.gz",
        "_SUCCESS",
        ".hidden.csv",
        "_part.csv",
        "readme.txt",
        "x.CSV",
        "[z].csv",
    ] {
        write(
            root,
            name,
            if name.ends_with("gz") {
                gzip(b"")
            } else {
                Vec::new()
            },
        );
    }
    for sub in ["sub", ".git", "_delta_log"] {
        std::fs::create_dir(root.join(sub)).unwrap();
        write(&root.join(sub), "c.tsv", "");
    }
    std::os::unix::fs::symlink(root, root.join("sub").join("loop")).unwrap();
    let open = |inputs: &[String], format| {
        Input::open(SourceOptions {
            inputs: inputs.to_vec(),
            format,
            ..Default::default()
        })
    };
    let path = |name: &str| root.join(name).to_str().unwrap().to_string();
    let names = |inputs: &[String]| {
        let input = open(inputs, None).unwrap_or_else(|e| panic!("{e}"));
        input
            .files()
            .iter()
            .map(|f| f.name[path("").len()..].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&[path("")]),
        ["[z].csv", "a.jsonl.gz", "b.csv", "sub/c.tsv", "x.CSV"]
    );
    assert_eq!(names(&[path("*.csv")]), ["[z].csv", "b.csv"]);
    assert_eq!(
        names(&[path("[z].csv"), path("_part.csv")]),
        ["[z].csv", "_part.csv"]
    );
    assert_eq!(
        names(&[path("*")]),
        ["[z].csv", "a.jsonl.gz", "b.csv", "sub/c.tsv", "x.CSV"]
    );
    let fails = |inputs: &[String]| open(inputs, None).unwrap_err();
    assert!(matches!(fails(&[]), SourceError::NoInputs));
    assert!(matches!(
        fails(&[path("none.csv")]),
        SourceError::NotFound { .. }
    ));
    assert!(matches!(
        fails(&[path("*.pq")]),
        SourceError::NotFound { .. }
    ));
    assert!(matches!(
        fails(&[path("*.txt")]),
        SourceError::NoFiles { .. }
    ));
    assert!(matches!(
        fails(&[path("readme.txt")]),
        SourceError::UnknownFormat { .. }
    ));
    assert_eq!(
        names(&[path("b.csv"), path(""), path("b.csv")]),
        ["b.csv", "[z].csv", "a.jsonl.gz", "sub/c.tsv", "x.CSV"]
    );
    let twice = open(&["-".into(), "-".into()], None).unwrap();
    assert_eq!(twice.files().len(), 1);
    assert!(matches!(
        open(&["-".into()], Some(Format::Parquet)),
        Err(SourceError::ParquetStream { .. })
    ));
    assert_eq!(
        open(&[path("readme.txt")], Some(Format::Csv))
            .unwrap()
            .files()[0]
            .format,
        Format::Csv
    );
    assert_eq!(
        open(&["-".into()], None).unwrap().files()[0].format,
        Format::JsonLines
    );
}

#[test]
fn the_first_error_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..12 {
        let text = if i % 4 == 3 {
            "doc_id,body\n,x\n".into()
        } else {
            String::from_utf8(bytes("csv", &docs(3))).unwrap()
        };
        write(folder.path(), &format!("{i:02}.csv"), text);
    }
    for threads in [1, 2, 4, 4, 4, 4] {
        let error = read_with(options(&[folder.path()]), threads).unwrap_err();
        assert!(error.to_string().contains("03.csv, line 2"), "{error}");
    }
}

#[test]
fn pipes() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["jsonl", "jsonl.gz", "jsonl.zst"] {
        let path = folder.path().join(format!("{ending}.pipe"));
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let (bytes, to) = (bytes(ending, &docs(1000)), path.clone());
        let writer = std::thread::spawn(move || std::fs::write(to, bytes).unwrap());
        let mut options = options(&[&path]);
        options.format = Some(Format::JsonLines);
        assert_eq!(read_with(options, 2).unwrap().0.len(), 1000);
        writer.join().unwrap();
    }
}

#[test]
fn odd_files_never_panic() {
    for part in ["odd/csv", "odd/parquet", "odd/strings"] {
        let Some(folder) = shared(part) else { continue };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            for (id, text) in [
                (None, None),
                (None, Some("a")),
                (None, Some("name")),
                (None, Some("arr")),
            ] {
                let mut options = options(&[&path]);
                options.make_ids = true;
                options.columns = ColumnNames {
                    id,
                    text: text.map(String::from),
                    ..Default::default()
                };
                let said = match read_with(options, 2) {
                    Ok((table, _)) => format!(
                        "{} documents, {} rejected",
                        table.len(),
                        table.rejected().len()
                    ),
                    Err(error) => error.to_string(),
                };
                println!("{}: {said}", path.file_name().unwrap().display());
            }
        }
    }
}
