//! What a run does with the columns that are not the text.
//!
//! Every input column travels into `deduped_documents` with its type and its values; the ones with a
//! part (id, source, domain, date, title) may have any name; those that clash with what the output adds
//! are renamed, and said to be.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float16Type, Int8Type};
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use common::corpus::parquet_file;
use common::{Bench, kept, parquet_batches, with_columns};

type Half = <Float16Type as ArrowPrimitiveType>::Native;

#[test]
fn every_type_travels() {
    let nulls = || Some(NullBuffer::from(vec![true, false, true, true]));
    let ints = || Int32Array::from(vec![Some(1), None, Some(-3), Some(i32::MAX)]);
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    let mut list = ListBuilder::new(StringBuilder::new());
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for value in [Some("x"), None, Some("x"), Some("")] {
        dictionary.append_option(value);
        list.values().append_option(value);
        list.values().append_value("y");
        list.append(value.is_some());
        map.keys().append_value("key");
        map.values().append_option(value);
        map.append(value.is_some()).unwrap();
    }
    let fields = Fields::from(vec![
        Field::new("n", DataType::Int32, true),
        Field::new("b", DataType::Boolean, true),
    ]);
    let flags = || BooleanArray::new(BooleanBuffer::from(vec![true, false, false, true]), nulls());
    let nested = StructArray::new(fields, vec![Arc::new(ints()), Arc::new(flags())], nulls());
    let seconds = vec![Some(0), None, Some(-1), Some(1_700_000_000)];
    let micros = || {
        TimestampMicrosecondArray::from(vec![Some(1), None, Some(-1), Some(1_700_000_000_123_456)])
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "int8",
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(1), Some(127)])),
        ),
        (
            "uint64",
            Arc::new(UInt64Array::from(vec![
                Some(u64::MAX),
                None,
                Some(1),
                Some(0),
            ])),
        ),
        ("int32", Arc::new(ints())),
        (
            "float16",
            Arc::new(Float16Array::from_iter_values(
                [0.5, 1.0, -2.0, 65504.0].map(Half::from_f32),
            )),
        ),
        (
            "float32",
            Arc::new(Float32Array::from(vec![
                Some(0.1),
                None,
                Some(f32::NAN),
                Some(-0.0),
            ])),
        ),
        (
            "float64",
            Arc::new(Float64Array::from(vec![
                Some(f64::MIN_POSITIVE),
                None,
                Some(1.5),
                Some(f64::INFINITY),
            ])),
        ),
        ("flag", Arc::new(flags())),
        ("zoned", Arc::new(micros().with_timezone("Europe/Berlin"))),
        ("naive", Arc::new(micros())),
        (
            "milli",
            Arc::new(TimestampMillisecondArray::from(seconds.clone())),
        ),
        (
            "nano",
            Arc::new(TimestampNanosecondArray::from(seconds).with_timezone("+00:00")),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![
                Some(-1),
                None,
                Some(0),
                Some(20_000),
            ])),
        ),
        (
            "time",
            Arc::new(Time64MicrosecondArray::from(vec![
                Some(1),
                None,
                Some(0),
                Some(86_399_999_999),
            ])),
        ),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(12_345), None, Some(-1), Some(0)])
                    .with_precision_and_scale(20, 4)
                    .unwrap(),
            ),
        ),
        (
            "wide",
            Arc::new(
                Decimal256Array::from(vec![Some(i256::from_i128(i128::MAX)), None, None, None])
                    .with_precision_and_scale(60, 2)
                    .unwrap(),
            ),
        ),
        (
            "binary",
            Arc::new(BinaryArray::from(vec![
                Some(&b"\xff\0"[..]),
                None,
                Some(b""),
                Some(b"x"),
            ])),
        ),
        (
            "large_binary",
            Arc::new(LargeBinaryArray::from(vec![
                Some(&b"\xff"[..]),
                None,
                Some(b""),
                Some(b"x"),
            ])),
        ),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_iter([b"ab", b"cd", b"ef", b"gh"].iter()).unwrap(),
            ),
        ),
        (
            "large",
            Arc::new(LargeStringArray::from(vec![
                Some("\u{1f600}"),
                None,
                Some(""),
                Some("NA"),
            ])),
        ),
        (
            "view",
            Arc::new(StringViewArray::from(vec![
                Some("a view longer than twelve bytes"),
                None,
                Some(""),
                Some("x"),
            ])),
        ),
        (
            "binary_view",
            Arc::new(BinaryViewArray::from(vec![
                Some(&b"a view longer than twelve bytes\xff"[..]),
                None,
                Some(b""),
                Some(b"x"),
            ])),
        ),
        ("dictionary", Arc::new(dictionary.finish())),
        ("list", Arc::new(list.finish())),
        ("map", Arc::new(map.finish())),
        ("struct", Arc::new(nested)),
        ("nothing", Arc::new(NullArray::new(4))),
        ("a \"quoted\", name\n", Arc::new(ints())),
        ("", Arc::new(ints())),
    ];
    let batch = with_columns(columns);
    let bench = Bench::new();
    let kept = kept(&bench, &batch, &[]);
    let rows = UInt32Array::from(vec![0, 1, 3]);
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let name = field.name();
        let found = kept
            .column_by_name(name)
            .unwrap_or_else(|| panic!("{name:?} is gone"));
        assert_eq!(found.data_type(), field.data_type(), "{name}");
        let expected: Vec<ArrayRef> = rows
            .values()
            .iter()
            .map(|&row| column.slice(row as usize, 1))
            .collect();
        for (row, expected) in expected.iter().enumerate() {
            assert_eq!(
                &found.slice(row, 1).to_data(),
                &expected.to_data(),
                "{name}, row {row}"
            );
        }
    }
    // What was read is published as it is, too.
    let source = parquet_batches(&bench.path("out/source_documents.parquet"));
    assert_eq!(source.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    assert_eq!(
        source[0].schema().fields().len(),
        batch.schema().fields().len()
    );
}

#[test]
fn columns_that_the_output_adds_are_renamed_and_said() {
    let column = |text: &str| Arc::new(StringArray::from(vec![text; 4])) as ArrayRef;
    let names = [
        "cluster_id",
        "cluster_size",
        "representative_doc_id",
        "token_count",
        "input_token_count",
    ];
    let batch = with_columns(names.iter().map(|name| (*name, column(name))).collect());
    let bench = Bench::new();
    let kept = kept(&bench, &batch, &[]);
    let text = |name: &str| {
        kept.column_by_name(name)
            .unwrap()
            .as_string::<i32>()
            .value(0)
            .to_owned()
    };
    assert_eq!(text("cluster_id"), "cluster-a");
    for (renamed, original) in [
        ("input_cluster_id", "cluster_id"),
        ("input_cluster_size", "cluster_size"),
        ("input_representative_doc_id", "representative_doc_id"),
        ("input_token_count", "input_token_count"),
        ("input_input_token_count", "token_count"),
    ] {
        assert_eq!(text(renamed), original);
    }
    let file = bench.name("in.parquet");
    let summary = bench.summary(&[&file], "json", &[]);
    assert_eq!(summary["renamed_columns"].as_array().unwrap().len(), 4);
    let said = bench.run(&[&file], "text", &[]).success();
    assert!(
        said.contains("the input column token_count is called input_input_token_count"),
        "{said}"
    );
}

#[test]
fn columns_under_any_name() {
    let bench = Bench::new();
    let rows = "schl\u{fc}ssel,inhalt,herkunft,ort,tag,name,doc_id,source\n\
        1,one text of some words,web,a.example,2024-01-01,same title,x,no\n\
        2,one text of some words,curated,b.example,2024-01-02,same title,x,no\n";
    let file = bench.write("x.csv", rows);
    let names = [
        "--id-column",
        "schl\u{fc}ssel",
        "--text-column",
        "inhalt",
        "--source-column",
        "herkunft",
        "--domain-column",
        "ort",
        "--date-column",
        "tag",
        "--title-column",
        "name",
    ];
    let run = |extra: &[&str]| {
        bench.summary(
            &[&file],
            "out",
            &[&names[..], &["--overwrite", "--publish", "all"], extra].concat(),
        );
        bench.csv("out", "cluster_inspection")[0][2].to_owned()
    };
    assert_eq!(run(&[]), "2", "the later date is kept");
    assert_eq!(run(&["--keep", "crawled_at"]), "1");
    assert_eq!(run(&["--keep", "tag"]), "1");
    assert_eq!(
        run(&["--keep", "source=[curated]"]),
        "2",
        "source is the column that has that part"
    );
    assert_eq!(run(&["--keep", "\"schl\u{fc}ssel\" desc"]), "2");
    assert_eq!(run(&["--keep", "herkunft desc"]), "1");
    assert_eq!(run(&["--keep", "doc_id desc"]), "2", "doc_id is the id");
    assert_eq!(
        run(&["--candidates", "blocking", "--block-by", "title-trigrams"]),
        "2"
    );
    let sources: Vec<String> = bench
        .csv("out", "source_summary")
        .iter()
        .map(|row| row[0].to_owned())
        .collect();
    assert_eq!(sources, ["curated", "web"]);
    let domains = bench.csv("out", "domain_summary");
    assert_eq!(&domains[0][0], "a.example");
    assert_eq!(&bench.csv("out", "duplicate_pairs")[0][2], "a.example");
}

#[test]
fn columns_of_several_files_become_one() {
    let bench = Bench::new();
    let csv = bench.write("a.csv", "doc_id,body,n,only\n1,some words of one,5,x\n");
    let jsonl = bench.write(
        "b.jsonl",
        "{\"doc_id\":\"2\",\"body\":\"some words of two\",\"n\":7,\"tags\":[\"a\"]}\n",
    );
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["3"]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["some words of three"]));
    let n: ArrayRef = Arc::new(Float32Array::from(vec![2.5]));
    let when: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0]));
    let batch =
        RecordBatch::try_from_iter([("doc_id", ids), ("body", texts), ("n", n), ("when", when)])
            .unwrap();
    let parquet = bench.write("c.parquet", parquet_file(&batch, 10));
    for (out, inputs) in [
        ("one", [&csv, &jsonl, &parquet]),
        ("two", [&parquet, &jsonl, &csv]),
    ] {
        let inputs = inputs.map(String::as_str);
        bench.run(&inputs, out, &["--quiet"]).success();
        let kept = parquet_batches(&bench.path(out).join("deduped_documents.parquet"));
        let column = |name: &str| kept[0].column_by_name(name).unwrap().clone();
        let n = column("n");
        let n: Vec<_> = n.as_string::<i32>().iter().flatten().collect();
        assert_eq!(n, ["5", "7", "2.5"]);
        assert_eq!(column("only").null_count(), 2);
        assert_eq!(
            column("tags").data_type(),
            &DataType::new_list(DataType::Utf8, true)
        );
        assert_eq!(
            column("when").data_type(),
            &DataType::Timestamp(TimeUnit::Second, None)
        );
    }
}
