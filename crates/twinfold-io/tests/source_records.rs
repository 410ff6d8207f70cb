//! Bad records: set aside with their place and reason, never the end of a run.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use proptest::prelude::*;
use source_helpers::*;
use twinfold_io::source::{Place, Quotes, Table};

fn read_text(name: &str, text: impl AsRef<[u8]>) -> Table {
    let folder = tempfile::tempdir().unwrap();
    read(&write(folder.path(), name, text)).unwrap_or_else(|error| panic!("{error}"))
}

fn rejected(table: &Table) -> Vec<(Place, &str)> {
    table
        .rejected()
        .iter()
        .map(|r| (r.place, r.reason.as_str()))
        .collect()
}

fn texts(table: &Table) -> Vec<std::borrow::Cow<'_, str>> {
    (0..table.len()).map(|rank| table.text(rank)).collect()
}

#[test]
fn csv_records() {
    let text = b"doc_id,body\na,one\n\n\r\nb,two,three\nc\nd,\"x\ny\"\ne,\xff\n\xfe,f\ng,\"\"\nh,\"he said \"\"hi\"\"\" tail\ni,null\n".to_vec();
    let table = read_text("x.csv", &text);
    assert_eq!(
        rejected(&table),
        [
            (Place::Line(5), "the record has 3 fields, the header has 2"),
            (Place::Line(6), "the record has 1 fields, the header has 2"),
            (Place::Line(9), "invalid UTF-8 in column `body`"),
            (Place::Line(10), "invalid UTF-8 in column `doc_id`"),
        ]
    );
    assert_eq!(
        texts(&table),
        ["one", "x\ny", "", "he said \"hi\" tail", "null"]
    );
    assert_eq!(table.place(1).1, Place::Line(7));
    assert_eq!(table.place(4).1, Place::Line(13));
    let json = serde_json::to_string(&table.rejected()[0]).unwrap();
    assert!(
        json.ends_with(r#"x.csv","line":5,"reason":"the record has 3 fields, the header has 2"}"#),
        "{json}"
    );
}

#[test]
fn csv_quotes_at_the_end() {
    for (tail, good, bad) in [
        ("b,\"two", 1, 1),
        ("b,\"two\"\"", 1, 1),
        ("b,\"two\n\nc,three\n", 2, 1),
        ("b,\"", 1, 1),
        ("\"b", 1, 1),
        ("b,\"two\"", 2, 0),
        ("b,\"two\"\"\"", 2, 0),
        ("b,\"\"", 2, 0),
        ("b,tw\"o", 2, 0),
        ("b,\"two\"x\"", 2, 0),
        ("b,\"two\"\n", 2, 0),
    ] {
        let table = read_text("x.csv", format!("doc_id,body\na,one\n{tail}"));
        assert_eq!(
            (table.len(), table.rejected().len()),
            (good, bad),
            "{tail:?}"
        );
        if bad > 0 {
            assert_eq!(table.rejected()[0].place, Place::Line(3));
            assert!(table.rejected()[0].reason.contains("never closed"));
        }
    }
}

#[test]
fn csv_line_ends() {
    for end in ["\n", "\r\n", "\r"] {
        let table = read_text("x.csv", ["doc_id,body", "a,1", "b,2", "", "c,3"].join(end));
        assert_eq!(texts(&table), ["1", "2", "3"]);
        assert_eq!(
            (table.place(0).1, table.place(2).1),
            (Place::Line(2), Place::Line(5)),
            "{end:?}"
        );
    }
}

#[test]
fn json_records() {
    let lines: [&[u8]; 24] = [
        br#"{"doc_id":"a","body":"one"}"#,
        br#"{"doc_id":"b","body":"two""#,
        br#"[1,2]"#,
        b"",
        b" \t\r",
        br#"7"#,
        br#"{"doc_id":"c","body":5}"#,
        br#"{"doc_id":"d","body":true}"#,
        br#"{"doc_id":"e","body":["x"]}"#,
        br#"{"doc_id":"f","body":{"x":1}}"#,
        br#"{"doc_id":true,"body":"x"}"#,
        br#"{"doc_id":[1],"body":"x"}"#,
        br#"{"doc_id":{"x":1},"body":"x"}"#,
        br#"{"doc_id":1.5,"body":"x"}"#,
        br#"{"doc_id":"g","body":"x","body":"y"}"#,
        b"{\"doc_id\":\"h\",\"body\":\"\xff\"}",
        br#"{"doc_id":"i","body":null}"#,
        br#"{"doc_id":"j"}"#,
        br#"{"doc_id":17,"body":"\u00e9\n\ud83c\udf89"}"#,
        br#"{"doc_id":"k","body":"\ud83c"}"#,
        br#"{"doc_id":"l","body":"x"} trailing"#,
        br#"{"doc_id":"m","body":1.5}"#,
        b"nonsense",
        br#"{"doc_id":123456789012345678901234567890,"body":"long"}"#,
    ];
    let table = read_text("x.jsonl", lines.join(&b'\n'));
    let got: Vec<(u64, String)> = rejected(&table)
        .into_iter()
        .map(|(place, reason)| {
            (
                if let Place::Line(n) = place { n } else { 0 },
                reason.to_string(),
            )
        })
        .collect();
    let expected = [
        (
            2,
            "not valid JSON: EOF while parsing an object at column 26",
        ),
        (3, "the line is an array, not an object"),
        (6, "the line is a number, not an object"),
        (7, "the text `body` is a number, not a string"),
        (8, "the text `body` is a boolean, not a string"),
        (9, "the text `body` is an array, not a string"),
        (10, "the text `body` is an object, not a string"),
        (
            11,
            "the id `doc_id` is a boolean, not a string or an integer; name another column with --id-column, or let ids be made with --make-ids",
        ),
        (
            12,
            "the id `doc_id` is an array, not a string or an integer; name another column with --id-column, or let ids be made with --make-ids",
        ),
        (
            13,
            "the id `doc_id` is an object, not a string or an integer; name another column with --id-column, or let ids be made with --make-ids",
        ),
        (
            14,
            "the id `doc_id` is a float, not a string or an integer; name another column with --id-column, or let ids be made with --make-ids",
        ),
        (15, "the key `body` stands twice"),
        (16, "invalid UTF-8 at byte 23 of the line"),
        (
            20,
            "the value of `body`: not valid JSON: unexpected end of hex escape at column 8",
        ),
        (21, "not valid JSON: trailing characters at column 27"),
        (22, "the text `body` is a float, not a string"),
        (23, "not valid JSON: expected ident at column 2"),
    ];
    assert_eq!(got, expected.map(|(n, r)| (n, r.to_string())));
    let ids: Vec<&str> = (0..table.len()).map(|rank| table.id(rank)).collect();
    assert_eq!(ids, ["123456789012345678901234567890", "17", "a", "i", "j"]);
    assert_eq!(texts(&table), ["long", "é\n🎉", "one", "", ""]);
    assert_eq!(table.place(1).1, Place::Line(19));
}

#[test]
fn json_line_ends() {
    for end in ["\n", "\r\n", "\r"] {
        let lines = [
            "{\"id\":1,\"text\":\"a\"}",
            "{\"id\":2,\"text\":NaN}",
            "",
            "{\"id\":3,}",
            "{\"id\":4,\"text\":\"d\"}",
        ];
        for last in ["", end] {
            let table = read_text("x.jsonl", lines.join(end) + last);
            assert_eq!(texts(&table), ["a", "", "d"], "{end:?}");
            assert_eq!(table.place(2).1, Place::Line(5));
            assert_eq!(table.rejected()[0].place, Place::Line(4));
        }
    }
    // A lone CR is white space where there are line feeds, or one object.
    let table = read_text(
        "x.jsonl",
        "{\"id\":1,\r\"text\":\"a\"}\r\n{\"id\":2,\"text\":\"b\"}\r",
    );
    assert_eq!(texts(&table), ["a", "b"]);
    assert_eq!(
        texts(&read_text("x.jsonl", "{\"id\":1,\r\"text\":\"a\"}\r")),
        ["a"]
    );
}

#[test]
fn a_broken_line_leaves_no_column() {
    let table = read_text(
        "x.jsonl",
        "{\"doc_id\":1,\"body\":\"x\"}\n{\"doc_id\":2,\"body\":3,\"extra\":1}\n{\"other\":1,\n",
    );
    assert_eq!(table.column_names(), ["doc_id", "body"]);
    assert_eq!(table.rejected().len(), 2);
}

#[test]
fn parquet_binary_text() {
    let body: Vec<&[u8]> = vec![b"one", b"\xff", "é".as_bytes(), b"\xc3", b"five"];
    let ids: StringArray = ["a", "b", "c", "d", "e"].into_iter().map(Some).collect();
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        ("text", Arc::new(BinaryArray::from_vec(body)) as ArrayRef),
    ]);
    let table = read_text("x.parquet", parquet(&[batch.unwrap()], 3));
    let reason = "invalid UTF-8 in column `text`";
    assert_eq!(
        rejected(&table),
        [(Place::Row(2), reason), (Place::Row(4), reason)]
    );
    assert_eq!(texts(&table), ["one", "é", "five"]);
    assert_eq!(table.place(2).1, Place::Row(5));
    assert_eq!(
        *table.schema().field(1).data_type(),
        arrow_schema::DataType::Binary
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..Default::default() })]

    /// The records of any bytes are those of the `csv` crate, if no quote is astray; and without
    /// quotes, they always are.
    #[test]
    fn csv_is_what_the_csv_crate_reads(
        bytes in proptest::collection::vec(prop::sample::select(b"ab,\"\"\n\r\xff \t".to_vec()), 0..60),
        quoting in any::<bool>(),
    ) {
        let mut all = b"doc_id,body\n".to_vec();
        all.extend(&bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "x.csv", &all);
        let mut reader = csv::ReaderBuilder::new().flexible(true).quoting(quoting).from_reader(all.as_slice());
        let records: Vec<csv::ByteRecord> = reader.byte_records().map(Result::unwrap).collect();
        let mut options = options(&[&path]);
        options.make_ids = true;
        options.quotes = if quoting { Quotes::Always } else { Quotes::Never };
        let (table, _) = read_with(options, 2).unwrap();
        let astray = table.rejected().iter().filter(|r| r.reason.contains("the quote that opens")).count();
        prop_assume!(astray == 0);
        prop_assert_eq!(table.read(), records.len() as u64);
        let expected: Vec<&str> = records
            .iter()
            .filter(|r| r.len() == 2 && r.iter().all(|f| std::str::from_utf8(f).is_ok()))
            .map(|r| std::str::from_utf8(&r[1]).unwrap())
            .collect();
        let mut rows: Vec<(Place, _)> = (0..table.len()).map(|r| (table.place(r).1, table.text(r))).collect();
        rows.sort();
        let got: Vec<&str> = rows.iter().map(|r| &*r.1).collect();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn any_bytes_after_a_csv_header(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for name in ["x.csv", "x.tsv"] {
            let mut all = if name == "x.csv" { b"id,body\n".to_vec() } else { b"id\tbody\n".to_vec() };
            all.extend(&bytes);
            survives(name, &all);
        }
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for name in ["x.csv", "x.jsonl", "x.jsonl.gz", "x.csv.zst", "x.parquet"] {
            survives(name, &bytes);
        }
    }

    #[test]
    fn any_json(bytes in "(\\{\"(id|body|x)\":[0-9\"a\\\\u{}\\[\\]tnfe,.-]{0,12}\\}?[\n ]?){0,12}") {
        survives("x.jsonl", bytes.as_bytes());
    }

    #[test]
    fn damaged_parquet(at in 0usize..4000, value in any::<u8>()) {
        let docs: Vec<Doc> = (0..40).map(|i| doc(&format!("{i:03}"), Some("t"), &format!("text {}", i % 7))).collect();
        let mut bytes = bytes("parquet", &docs);
        let len = bytes.len();
        bytes[at % len] = value;
        if let Some(rows) = survives("x.parquet", &bytes) {
            prop_assert_eq!(rows, 40);
        }
    }
}

/// Reads without a panic, and then `read_with` checks what holds of any table; 1 and 2 threads agree.
fn survives(name: &str, bytes: &[u8]) -> Option<u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), name, bytes);
    let run = |threads| {
        let mut options = options(&[&path]);
        options.make_ids = true;
        match read_with(options, threads) {
            Ok((table, _)) => Ok((gather(&table), table.rejected().to_vec())),
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                Err(error.to_string())
            }
        }
    };
    let one = run(1);
    assert_eq!(one, run(2));
    one.ok()
        .map(|(batch, rejected)| (batch.num_rows() + rejected.len()) as u64)
}
