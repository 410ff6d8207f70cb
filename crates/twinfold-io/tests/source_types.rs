//! Columns keep their names and types, and those of several files become one.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::*;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use proptest::prelude::*;
use source_helpers::*;
use twinfold_io::source::{ColumnValue, SourceError, Table};

fn json(lines: &[&str]) -> Table {
    let folder = tempfile::tempdir().unwrap();
    read(&write(folder.path(), "x.jsonl", lines.join("\n"))).unwrap_or_else(|e| panic!("{e}"))
}

fn kind(table: &Table, name: &str) -> DataType {
    table
        .schema()
        .field_with_name(name)
        .unwrap()
        .data_type()
        .clone()
}

/// The values of `x` as text, of one JSON line for each.
fn json_values(values: &[&str]) -> (DataType, Vec<Option<String>>) {
    let lines: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, v)| format!(r#"{{"id":"{i:03}","text":"t","x":{v}}}"#))
        .collect();
    let table = json(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let batch = gather(&table);
    let column = batch.column_by_name("x").unwrap();
    let texts = if column.data_type().is_nested() {
        let mut writer = arrow_json::LineDelimitedWriter::new(Vec::new());
        writer.write(&batch.project(&[2]).unwrap()).unwrap();
        writer.finish().unwrap();
        String::from_utf8(writer.into_inner())
            .unwrap()
            .lines()
            .map(|l| Some(l.to_string()))
            .collect()
    } else {
        let texts = arrow_cast::cast(column, &DataType::Utf8).unwrap();
        texts
            .as_string::<i32>()
            .iter()
            .map(|t| t.map(String::from))
            .collect()
    };
    (kind(&table, "x"), texts)
}

#[test]
fn json_scalars() {
    let text = |v: &str| Some(v.to_string());
    assert_eq!(
        json_values(&["true", "null", "false"]),
        (DataType::Boolean, vec![text("true"), None, text("false")])
    );
    assert_eq!(
        json_values(&["1", "-2", "null"]),
        (DataType::Int64, vec![text("1"), text("-2"), None])
    );
    assert_eq!(
        json_values(&["1", "2.50"]),
        (DataType::Float64, vec![text("1.0"), text("2.5")])
    );
    assert_eq!(
        json_values(&["2.50", "null", "\"a\\n\"", "1", "true"]).1,
        [text("2.50"), None, text("a\n"), text("1"), text("true")]
    );
    assert_eq!(
        json_values(&["null", "null"]),
        (DataType::Utf8, vec![None, None])
    );
    // Digits are not lost to a float where there is none, nor a number to infinity.
    assert_eq!(
        json_values(&["1", "12345678901234567890"]).1,
        [text("1"), text("12345678901234567890")]
    );
    assert_eq!(
        json_values(&["1e999", "0.5"]).1,
        [text("1e999"), text("0.5")]
    );
    assert_eq!(
        json_values(&["9223372036854775807", "-9223372036854775808"]).0,
        DataType::Int64
    );
    assert_eq!(json_values(&["\"\"", "null"]).1, [text(""), None]);
}

/// Integers keep every digit, in the narrowest type that has them all; among floats they are floats.
#[test]
fn json_integers_of_any_length() {
    use DataType::{Float64, Int64, UInt64, Utf8};
    const LEAST: &str = "-9223372036854775808";
    const MOST: &str = "9223372036854775807";
    const ABOVE: &str = "9223372036854775808";
    const UNSIGNED: &str = "18446744073709551615";
    const LONGER: &str = "18446744073709551616";
    const VERY: &str = "123456789012345678901234567890";
    let too_long = "9".repeat(400);
    for (values, expected) in [
        (vec![LEAST, MOST], Int64),
        (vec!["1", ABOVE], UInt64),
        (vec!["0", UNSIGNED, MOST], UInt64),
        (vec!["-1", MOST], Int64),
        (vec!["-1", ABOVE], Utf8),
        (vec!["-9223372036854775809", "1"], Utf8),
        (vec!["1", LONGER], Utf8),
        (vec![VERY, "2", "-3"], Utf8),
        (vec!["0.5", ABOVE], Float64),
        (vec!["-1", "0.5", VERY], Float64),
        (vec![VERY, "-1", UNSIGNED, "1e300"], Float64),
        (vec!["0.5", &too_long], Utf8),
        (vec!["1", &too_long], Utf8),
        (vec!["1", "1e999"], Utf8),
        (vec![UNSIGNED, "\"x\""], Utf8),
    ] {
        for turn in 0..values.len() {
            let mut turned = values.clone();
            turned.rotate_left(turn);
            turned.push("null");
            let (kind, found) = json_values(&turned);
            assert_eq!(kind, expected, "{turned:?}");
            for (value, found) in turned.iter().zip(found) {
                let found = found.unwrap_or_else(|| "null".into());
                match expected {
                    Float64 if *value != "null" => {
                        assert_eq!(found.parse::<f64>().unwrap(), value.parse::<f64>().unwrap());
                    }
                    _ => assert_eq!(found, value.trim_matches('"'), "{turned:?}"),
                }
            }
        }
        // The same in one file for each value.
        let folder = tempfile::tempdir().unwrap();
        for (at, value) in values.iter().enumerate() {
            let line = format!("{{\"id\":{at},\"text\":\"t\",\"x\":{value}}}");
            write(folder.path(), &format!("{at}.jsonl"), line);
        }
        let table = read_with(options(&[folder.path()]), 2).unwrap().0;
        assert_eq!(kind(&table, "x"), expected, "{values:?}");
    }
    let nested = |values: &[&str]| json_values(values).0;
    assert_eq!(
        nested(&["[1]", &format!("[{UNSIGNED}]")]),
        DataType::new_list(UInt64, true)
    );
    assert_eq!(nested(&["[-1]", &format!("[{UNSIGNED}]")]), Utf8);
}

/// What Python writes for floats that are no numbers.
#[test]
fn json_nan_and_infinity() {
    let text = |v: &str| Some(v.to_string());
    let floats = [text("NaN"), text("1.5"), text("inf"), text("-inf"), None];
    assert_eq!(
        json_values(&["NaN", "1.5", "Infinity", "-Infinity", "null"]),
        (DataType::Float64, floats.to_vec())
    );
    assert_eq!(
        json_values(&["NaN", "2", "-Infinity"]),
        (
            DataType::Float64,
            vec![text("NaN"), text("2.0"), text("-inf")]
        )
    );
    assert_eq!(
        json_values(&["NaN", "null"]),
        (DataType::Float64, vec![text("NaN"), None])
    );
    // Beside anything else it is a missing value.
    for (value, kind) in [
        ("\"NaN\"", DataType::Utf8),
        ("\"a\\n,NaN,\"", DataType::Utf8),
        ("true", DataType::Boolean),
        ("7", DataType::Int64),
        ("18446744073709551615", DataType::UInt64),
    ] {
        let shown: String = serde_json::from_str(value).unwrap_or(value.into());
        for values in [["NaN", value, "null"], [value, "NaN", "null"]] {
            let found = json_values(&values);
            let expected = values.map(|v| (v == value).then(|| shown.clone()));
            assert_eq!(found, (kind.clone(), expected.to_vec()));
        }
    }
    assert_eq!(
        json_values(&["Infinity", "\"x\"", "NaN"]),
        (DataType::Utf8, vec![text("Infinity"), text("x"), None])
    );
    let list = DataType::new_list(DataType::Float64, true);
    let table = json(&[
        r#"{"id":1,"text":"t","x":[1, NaN,-Infinity]}"#,
        r#"{"id":2,"text":"t","x":NaN}"#,
        r#"{"id":3,"text":"t","x":[2.5,null]}"#,
    ]);
    assert_eq!(kind(&table, "x"), list);
    let batch = gather(&table);
    let column = batch.column_by_name("x").unwrap().as_list::<i32>().clone();
    let first = column.value(0);
    let first = first.as_primitive::<Float64Type>();
    assert_eq!((first.value(0), first.value(2)), (1.0, f64::NEG_INFINITY));
    assert!(first.value(1).is_nan() && column.is_null(1));
    // What has no common type stays as it was written.
    assert_eq!(
        json_values(&["[NaN]", "{\"a\":-Infinity}"]),
        (
            DataType::Utf8,
            vec![text("[NaN]"), text("{\"a\":-Infinity}")]
        )
    );
    let table = json(&[
        r#"{"id":"a","text":NaN,"title":NaN}"#,
        r#"{"id":"b","text":"NaN, Infinity","title":"t"}"#,
        r#"{"id":"c","text":"x" "title":NaN}"#,
        r#"{"id":"d","text":Infinity}"#,
        r#"{"id":"e","text":"x","y":NaN,}"#,
        r#"{"id":"f","text":"x","y":nan}"#,
    ]);
    assert_eq!((&*table.text(0), table.title(0)), ("", None));
    assert_eq!(
        (&*table.text(1), table.title(1)),
        ("NaN, Infinity", Some("t"))
    );
    let reasons: Vec<&str> = table.rejected().iter().map(|r| r.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "not valid JSON: expected `,` or `}` at column 22",
            "the text `text` is a float, not a string",
            "not valid JSON: trailing comma at column 30",
            "not valid JSON: expected ident at column 27",
        ]
    );
}

#[test]
fn json_nested() {
    let (kind, values) = json_values(&[
        r#"{"b":[1,2],"a":"x"}"#,
        "null",
        r#"{"b":[],"c":{"d":1.5}}"#,
        r#"{"b":[null]}"#,
    ]);
    let list = DataType::new_list(DataType::Int64, true);
    let inner = DataType::Struct(Fields::from(vec![Field::new("d", DataType::Float64, true)]));
    let fields = vec![
        Field::new("a", DataType::Utf8, true),
        Field::new("b", list, true),
        Field::new("c", inner, true),
    ];
    assert_eq!(kind, DataType::Struct(Fields::from(fields)));
    let expected = [
        r#"{"x":{"a":"x","b":[1,2]}}"#,
        r#"{}"#,
        r#"{"x":{"b":[],"c":{"d":1.5}}}"#,
        r#"{"x":{"b":[null]}}"#,
    ];
    assert_eq!(values, expected.map(|v| Some(v.to_string())));
    // What has no common type stays as it was written.
    for values in [
        vec![r#"{"a":1}"#, r#"{"a":"x"}"#],
        vec!["[1, 2]", r#"["x"]"#],
        vec![r#"[1,"x"]"#],
        vec![r#"{"a" : 1}"#, "7"],
        vec!["{}", "{}"],
        vec![r#"{"a":1,"a":2}"#],
        vec![r#"["\ud800"]"#],
        vec!["[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]"],
        vec!["[123456789012345678901234567890]"],
    ] {
        let got = json_values(&values);
        assert_eq!(
            got,
            (
                DataType::Utf8,
                values.iter().map(|v| Some(v.to_string())).collect()
            )
        );
    }
    let wide: String = (0..1001).map(|i| format!("\"k{i}\":1,")).collect();
    let wide = format!("{{{}}}", wide.trim_end_matches(','));
    assert_eq!(
        json_values(&[&wide]),
        (DataType::Utf8, vec![Some(wide.clone())])
    );
}

#[test]
fn json_columns_in_order() {
    let table = json(&[
        r#"{"zeta":1,"text":"t","id":1}"#,
        r#"{"alpha":1,"id":2,"title":"x","text":"u"}"#,
    ]);
    assert_eq!(
        table.column_names(),
        ["id", "title", "text", "alpha", "zeta"]
    );
    assert_eq!(kind(&table, "id"), DataType::Int64);
    assert_eq!(
        table.column_values("alpha").unwrap(),
        [ColumnValue::Null, ColumnValue::Integer(1)]
    );
    assert_eq!(table.column_values("none"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..Default::default() })]

    /// Any values in any order and any cut: the same column.
    #[test]
    fn json_types_do_not_depend_on_the_order(
        picks in proptest::collection::vec(0usize..20, 1..30),
        cut in 1usize..30,
        rotate in 0usize..30,
    ) {
        const VALUES: [&str; 20] = [
            "null", "1", "2.50", "true", "\"s\"", "[1]", "[0.5]", "{\"a\":1}", "{\"a\":null,\"b\":\"x\"}", "[]", "12345678901234567890", "{\"a\":[]}", "NaN",
            "-Infinity", "[NaN]", "-1", "123456789012345678901234567890", "\"NaN\"", "{\"a\":NaN}", "[18446744073709551615]",
        ];
        // Two or three kinds at a time, so that not everything ends as text.
        let few: Vec<usize> = picks.iter().map(|p| picks[p % picks.len().min(3)]).collect();
        let lines: Vec<String> = few
            .iter()
            .enumerate()
            .map(|(i, &p)| format!(r#"{{"id":{i},"text":"t","x":{}}}"#, VALUES[p]))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let one = read(&write(folder.path(), "x.jsonl", lines.join("\n"))).unwrap();
        let mut turned = lines.clone();
        turned.rotate_left(rotate % lines.len());
        let parts = folder.path().join("parts");
        std::fs::create_dir(&parts).unwrap();
        for (i, part) in turned.chunks(cut).enumerate() {
            write(&parts, &format!("{i}.jsonl"), part.join("\n"));
        }
        let many = read_with(options(&[&parts]), 2).unwrap().0;
        // As text, since `NaN` is not equal to itself.
        let shown = |table: &Table| {
            let batch = gather(table);
            format!("{:?} {:?}", batch.schema(), batch.columns())
        };
        prop_assert_eq!(shown(&one), shown(&many));
    }
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(values.iter().map(|v| Some(*v)).collect::<StringArray>())
}

#[test]
fn parquet_types_are_kept() {
    let mut list = ListBuilder::new(Int32Builder::new());
    list.append_value([Some(1), None]);
    list.append_null();
    list.append_value([]);
    let inner = StructArray::from(vec![
        (
            Arc::new(Field::new("s", DataType::Utf8, true)),
            strings(&["x", "y", "z"]),
        ),
        (
            Arc::new(Field::new("n", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef,
        ),
    ]);
    let dictionary: DictionaryArray<Int32Type> = vec!["d1", "d2", "d1"].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("doc_id", Arc::new(Int64Array::from(vec![3, 1, 2]))),
        (
            "body",
            Arc::new(LargeStringArray::from(vec![
                Some("three"),
                None,
                Some("two"),
            ])),
        ),
        ("title", Arc::new(dictionary)),
        (
            "crawled_at",
            Arc::new(
                TimestampMillisecondArray::from(vec![0, 1, 1_600_000_000_000])
                    .with_timezone("Europe/Berlin"),
            ),
        ),
        (
            "source",
            Arc::new(StringViewArray::from(vec!["a", "b", "c"])),
        ),
        ("list", Arc::new(list.finish())),
        ("struct", Arc::new(inner)),
        (
            "float",
            Arc::new(Float32Array::from(vec![0.5, f32::NAN, 2.0])),
        ),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![123, 456, 789])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        (
            "date",
            Arc::new(Date32Array::from(vec![Some(0), None, Some(19000)])),
        ),
        (
            "binary",
            Arc::new(LargeBinaryArray::from_vec(vec![b"\xff", b"", b"x"])),
        ),
        (
            "bool",
            Arc::new(BooleanArray::from(vec![true, false, true])),
        ),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 1, 2]))),
        ("null", new_null_array(&DataType::Null, 3)),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
            .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for group in [1, 2, 100] {
        let table = read(&write(
            folder.path(),
            "x.parquet",
            parquet(std::slice::from_ref(&batch), group),
        ))
        .unwrap();
        assert_eq!(table.schema().fields(), batch.schema().fields());
        let order = UInt32Array::from(vec![1, 2, 0]);
        assert_eq!(
            gather(&table),
            arrow_select::take::take_record_batch(&batch, &order).unwrap()
        );
        assert_eq!(
            (table.id(0), &*table.text(0), table.title(0)),
            ("1", "", Some("d2"))
        );
        assert_eq!(
            (table.source(2), table.date(1), table.date(2)),
            (
                Some("a"),
                Some("2020-09-13T12:26:40Z"),
                Some("1970-01-01T00:00:00Z")
            )
        );
        let value = |name: &str| table.column_values(name).unwrap()[2].clone();
        assert_eq!(value("crawled_at"), ColumnValue::Time(0));
        assert_eq!(value("date"), ColumnValue::Time(0));
        assert_eq!(value("decimal"), ColumnValue::Float(1.23));
        assert_eq!(value("big"), ColumnValue::Float(u64::MAX as f64));
        assert_eq!(value("bool"), ColumnValue::Text("true".into()));
        assert_eq!(value("null"), ColumnValue::Null);
        assert_eq!(
            value("struct"),
            ColumnValue::Text(r#"{"s":"x","n":1}"#.into())
        );
        assert_eq!(value("title"), ColumnValue::Text("d1".into()));
    }
}

#[test]
fn types_unify_whatever_the_order_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, id: &str, x: ArrayRef| {
        let batch = RecordBatch::try_from_iter([
            ("doc_id", strings(&[id])),
            ("body", strings(&["t"])),
            ("x", x),
        ])
        .unwrap();
        write(folder.path(), name, parquet(&[batch], 10))
    };
    let int8: ArrayRef = Arc::new(Int8Array::from(vec![7]));
    let int64: ArrayRef = Arc::new(Int64Array::from(vec![-7]));
    let float: ArrayRef = Arc::new(Float32Array::from(vec![0.5]));
    let big: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["v"]));
    let dictionary: ArrayRef =
        Arc::new(vec!["d"].into_iter().collect::<DictionaryArray<Int8Type>>());
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([
        Some(1),
    ])]));
    let time: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
    let finer: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![5]));
    let cases: Vec<(Vec<ArrayRef>, DataType, [&str; 3])> = vec![
        (
            vec![int8.clone(), int64.clone(), int8.clone()],
            DataType::Int64,
            ["7", "-7", "7"],
        ),
        (
            vec![int8.clone(), float.clone(), big.clone()],
            DataType::Float64,
            ["7.0", "0.5", "1.8446744073709552e19"],
        ),
        (
            vec![int8.clone(), big.clone(), int8.clone()],
            DataType::Utf8,
            ["7", "18446744073709551615", "7"],
        ),
        (
            vec![view.clone(), dictionary.clone(), strings(&["s"])],
            DataType::Utf8,
            ["v", "d", "s"],
        ),
        (
            vec![dictionary.clone(), dictionary.clone(), dictionary.clone()],
            dictionary.data_type().clone(),
            ["d", "d", "d"],
        ),
        (
            vec![list.clone(), int8.clone(), view.clone()],
            DataType::Utf8,
            ["[1]", "7", "v"],
        ),
        (
            vec![time.clone(), finer.clone(), time.clone()],
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            [
                "1970-01-01T00:00:01",
                "1970-01-01T00:00:00.000000005",
                "1970-01-01T00:00:01",
            ],
        ),
    ];
    for (arrays, expected, values) in cases {
        let paths: Vec<_> = arrays
            .iter()
            .enumerate()
            .map(|(i, a)| file(&format!("{i}.parquet"), &i.to_string(), a.clone()))
            .collect();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let table = read_with(options(&order.map(|i| paths[i].as_path())), 2)
                .unwrap()
                .0;
            assert_eq!(kind(&table, "x"), expected);
            let x = arrow_cast::cast(gather(&table).column(2), &DataType::Utf8).unwrap();
            assert_eq!(
                x.as_string::<i32>()
                    .iter()
                    .map(Option::unwrap)
                    .collect::<Vec<_>>(),
                values
            );
        }
    }
    // CSV and JSON beside Parquet; columns that differ are sorted, JSON's mapped ones come first.
    let parquet = file("0.parquet", "p", int8);
    let csv = write(folder.path(), "x.csv", "y,doc_id,body\n1,c,t\n");
    let table = read_with(options(&[&parquet, &csv]), 2).unwrap().0;
    assert_eq!(table.column_names(), ["body", "doc_id", "x", "y"]);
    assert_eq!(
        gather(&table)
            .column(2)
            .as_primitive::<Int8Type>()
            .iter()
            .collect::<Vec<_>>(),
        [None, Some(7)]
    );
    let json = write(
        folder.path(),
        "x.jsonl",
        "{\"doc_id\":\"j\",\"body\":\"t\",\"x\":1.25}",
    );
    let table = read_with(options(&[&csv, &json, &parquet]), 2).unwrap().0;
    assert_eq!(table.column_names(), ["doc_id", "body", "x", "y"]);
    assert_eq!(
        gather(&table)
            .column(2)
            .as_primitive::<Float64Type>()
            .iter()
            .collect::<Vec<_>>(),
        [None, Some(1.25), Some(7.0)]
    );
}

#[test]
fn text_and_id_of_other_types() {
    let folder = tempfile::tempdir().unwrap();
    let write_columns = |columns: Vec<(&str, ArrayRef)>| {
        write(
            folder.path(),
            "x.parquet",
            parquet(&[RecordBatch::try_from_iter(columns).unwrap()], 10),
        )
    };
    let ints = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let floats = || Arc::new(Float64Array::from(vec![1.0, 2.0])) as ArrayRef;
    let error = read(&write_columns(vec![("id", ints()), ("text", ints())])).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the text column `text` is of type Int64, not a string"),
        "{error}"
    );
    let flags = || Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef;
    let error = read(&write_columns(vec![
        ("id", flags()),
        ("text", strings(&["a", "b"])),
    ]))
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the id column `id` is of type Boolean, not a string or an integer"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("--id-column"));
    let dictionary: DictionaryArray<Int32Type> = vec!["x", "x"].into_iter().collect();
    let table = read(&write_columns(vec![
        ("id", ints()),
        ("text", Arc::new(dictionary)),
        ("title", floats()),
    ]))
    .unwrap();
    assert_eq!(
        (table.id(1), &*table.text(1), table.title(1)),
        ("2", "x", Some("2.0"))
    );
    let null = Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef;
    let error = read(&write_columns(vec![
        ("id", null),
        ("text", strings(&["a", "b"])),
    ]))
    .unwrap_err();
    assert!(
        error.to_string().contains("row 2: the id is null or empty"),
        "{error}"
    );
}

/// Floats that are integers are ids, in Parquet and in JSON; others are not, and what they are in CSV
/// is text.
#[test]
fn ids_that_are_floats() {
    let folder = tempfile::tempdir().unwrap();
    let parquet_of = |name: &str, ids: ArrayRef| {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["t"; ids.len()]));
        let batch =
            RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]);
        write(folder.path(), name, parquet(&[batch.unwrap()], 2))
    };
    let json_of = |ids: &[&str]| {
        let lines = ids
            .iter()
            .map(|id| format!("{{\"id\":{id},\"text\":\"t\"}}\n"));
        let name = format!("{}.jsonl", ids.join(" "));
        write(folder.path(), &name, lines.collect::<String>())
    };
    let most = 9_007_199_254_740_991.0;
    let doubles = |values: &[f64]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let singles = |values: &[f32]| Arc::new(Float32Array::from(values.to_vec())) as ArrayRef;
    let ids = |table: &Table| -> Vec<String> {
        (0..table.len()).map(|rank| table.id(rank).into()).collect()
    };
    for path in [
        parquet_of("x.parquet", doubles(&[1.0, 0.0, -3.0, most, -most, 1e15])),
        json_of(&[
            "1.0",
            "-0.0",
            "-3.000",
            "9007199254740991.0",
            "-9.007199254740991e15",
            "1E+15",
        ]),
    ] {
        let table = read(&path).unwrap();
        let mut expected = [
            1,
            0,
            -3,
            9_007_199_254_740_991,
            -9_007_199_254_740_991,
            10i64.pow(15),
        ]
        .map(|id| id.to_string());
        expected.sort();
        assert_eq!(ids(&table), expected);
        assert_eq!(kind(&table, "id"), DataType::Int64);
    }
    let table = read(&parquet_of("y.parquet", singles(&[7.0, 16_777_215.0]))).unwrap();
    assert_eq!(ids(&table), ["16777215", "7"]);
    // What is no integer, or one that another was rounded to.
    for (path, bad) in [
        (
            parquet_of(
                "a.parquet",
                doubles(&[1.5, 2.0, 9_007_199_254_740_992.0, f64::INFINITY]),
            ),
            3,
        ),
        (
            parquet_of("b.parquet", singles(&[0.5, 2.0, 16_777_216.0])),
            2,
        ),
        (
            json_of(&[
                "1.5",
                "2.0",
                "9007199254740992.0",
                "Infinity",
                "1e999",
                "1e-1",
                "1.00000000000000000001",
            ]),
            6,
        ),
    ] {
        let table = read(&path).unwrap();
        assert_eq!(ids(&table), ["2"]);
        assert_eq!(table.rejected().len(), bad);
        for rejected in table.rejected() {
            for part in ["the id `id` is", "--id-column", "--make-ids"] {
                assert!(rejected.reason.contains(part), "{}", rejected.reason);
            }
        }
        let mut options = options(&[&path]);
        options.make_ids = true;
        let table = read_with(options, 2).unwrap().0;
        assert!(table.rejected().is_empty() && table.len() == bad + 1);
    }
    // A gap is a missing id.
    for path in [
        parquet_of("c.parquet", doubles(&[1.0, f64::NAN])),
        parquet_of(
            "d.parquet",
            Arc::new(Float64Array::from(vec![Some(1.0), None])),
        ),
        json_of(&["1.0", "NaN"]),
        json_of(&["1.0", "null"]),
    ] {
        let error = read(&path).unwrap_err();
        assert!(
            error.to_string().contains("2: the id is null or empty"),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("--make-ids"));
    }
    // The same id, whatever the file made of it.
    let whole = write(folder.path(), "whole.jsonl", "{\"id\":2,\"text\":\"t\"}");
    let words = write(
        folder.path(),
        "words.jsonl",
        "{\"id\":\"2\",\"text\":\"t\"}",
    );
    let csv = write(folder.path(), "x.csv", "id,text\n2,t\n2.0,t\n");
    let json = json_of(&["1.0", "2.0"]);
    let parquet = parquet_of("x.parquet", doubles(&[1.5, 2.0]));
    for first in [&whole, &words, &csv] {
        for second in [&json, &parquet] {
            let error = read_with(options(&[first, second]), 2)
                .unwrap_err()
                .to_string();
            for part in ["the id `2` stands twice", "(1 repeated"] {
                assert!(error.contains(part), "{error}");
            }
            assert!(error.contains(second.to_str().unwrap()), "{error}");
        }
    }
    assert_eq!(ids(&read(&csv).unwrap()), ["2", "2.0"]);
    // Integers that no float holds stay what they are beside ids that were floats.
    let long = write(
        folder.path(),
        "long.jsonl",
        "{\"id\":9007199254740993,\"text\":\"t\"}",
    );
    let table = read_with(options(&[&long, &parquet]), 2).unwrap().0;
    assert_eq!(kind(&table, "id"), DataType::Int64);
    assert_eq!(
        table.column_values("id").unwrap()[1],
        ColumnValue::Integer(9_007_199_254_740_993)
    );
}

#[test]
fn many_row_groups_and_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let batch = |from: usize, to: usize| {
        let ids: Vec<String> = (from..to).map(|i| format!("{i:05}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        RecordBatch::try_from_iter([("id", strings(&ids)), ("text", strings(&ids))]).unwrap()
    };
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(Vec::new(), batch(0, 1).schema(), None).unwrap();
    for i in 0..100 {
        writer
            .write(&batch(i * 10, i * 10 + if i == 50 { 0 } else { 10 }))
            .unwrap();
        writer.flush().unwrap();
    }
    let path = write(folder.path(), "x.parquet", writer.into_inner().unwrap());
    let (one, _) = read_with(options(&[&path]), 1).unwrap();
    let (two, _) = read_with(options(&[&path]), 2).unwrap();
    assert_eq!(one.len(), 990);
    assert_eq!(gather(&one), gather(&two));
    assert_eq!(one.place(989).1, twinfold_io::source::Place::Row(990));
}

/// A file of one text page with a checksum: the writer makes none, so it is put into the page header.
fn with_checksum(crc: impl Fn(&[u8]) -> u32) -> (Vec<u8>, usize) {
    use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    let texts: Vec<String> = (0..50).map(|i| format!("text {i:03}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let batch = RecordBatch::try_from_iter([("text", strings(&texts))]).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_offset_index_disabled(true)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let old = writer.into_inner().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::open(write(folder.path(), "x.parquet", &old)).unwrap();
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap();
    let column = metadata.row_group(0).column(0).clone();
    let (start, len) = column.byte_range();
    let page = &old[start as usize..(start + len) as usize];
    // The header begins with three 32-bit fields (type, size, compressed size), then the fifth field.
    let (mut at, mut body) = (0, 0);
    for _ in 0..3 {
        assert_eq!(page[at], 0x15);
        at += 1;
        (body, at) = varint(page, at);
    }
    assert_eq!(page[at], 0x2c);
    let body = (body >> 1) as usize;
    let crc = crc(&page[page.len() - body..]) as i32;
    let mut new = old[..start as usize].to_vec();
    new.extend(&page[..at]);
    // The fourth field, zigzag, in as many bytes as it takes; then the fifth is one further.
    new.push(0x15);
    let mut zigzag = ((crc << 1) ^ (crc >> 31)) as u32;
    while zigzag >= 0x80 {
        new.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    new.push(zigzag as u8);
    new.push(0x1c);
    new.extend(&page[at + 1..]);
    let longer = (new.len() as u64 - start - len) as i64;
    let column = column
        .clone()
        .into_builder()
        .set_total_compressed_size(len as i64 + longer)
        .set_total_uncompressed_size(column.uncompressed_size() + longer)
        .build()
        .unwrap();
    let group = metadata
        .row_group(0)
        .clone()
        .into_builder()
        .set_column_metadata(vec![column])
        .build()
        .unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let place = new.windows(8).position(|w| w == b"text 007").unwrap();
    ParquetMetaDataWriter::new(&mut new, &metadata)
        .finish()
        .unwrap();
    (new, place)
}

fn crc32(body: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(body);
    crc.sum()
}

fn varint(bytes: &[u8], mut at: usize) -> (u32, usize) {
    let (mut value, mut shift) = (0, 0);
    loop {
        value |= u32::from(bytes[at] & 0x7f) << shift;
        at += 1;
        shift += 7;
        if bytes[at - 1] < 0x80 {
            return (value, at);
        }
    }
}

#[test]
fn page_checksums_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let run = |bytes: &[u8]| {
        let mut options = options(&[&write(folder.path(), "x.parquet", bytes)]);
        options.make_ids = true;
        read_with(options, 2).map(|(table, _)| table.len())
    };
    let (good, place) = with_checksum(crc32);
    assert_eq!(run(&good).unwrap(), 50);
    let (wrong, _) = with_checksum(|body| crc32(body) ^ 1);
    assert!(matches!(
        run(&wrong),
        Err(SourceError::ParquetPage { after: 0, .. })
    ));
    // One letter of a text: only the checksum can tell.
    let mut flipped = good;
    flipped[place] = b'T';
    let error = run(&flipped).unwrap_err();
    assert!(error.to_string().contains("CRC"), "{error}");
}

#[test]
fn gather_any_ranks() {
    let table = json(&[
        "{\"id\":1,\"text\":\"a\",\"n\":5}",
        "{\"id\":2,\"text\":\"b\",\"n\":6}",
    ]);
    let batch = table.gather(&[1, 0, 1, 1]).unwrap();
    assert_eq!(
        batch.column(2).as_primitive::<Int64Type>().values(),
        &[6, 5, 6, 6]
    );
    assert_eq!(table.gather(&[]).unwrap().schema(), table.schema());
}
