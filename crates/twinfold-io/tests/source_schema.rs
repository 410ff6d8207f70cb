//! What Parquet says of its columns comes through: every type, metadata, and where inputs disagree, a
//! note.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::Int32Builder;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use source_helpers::*;

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(values.iter().map(|v| Some(*v)).collect::<StringArray>())
}

/// Three values of a type, the second null.
fn sample(kind: &DataType) -> ArrayRef {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let cast = |array: &ArrayRef, to: &DataType| arrow_cast::cast(array, to).ok();
    match kind {
        DataType::Boolean => Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        DataType::Null => new_null_array(kind, 3),
        DataType::FixedSizeBinary(size) => {
            let values = [Some(b"ab"), None, Some(b"\xff\0")].into_iter();
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *size).unwrap())
        }
        _ => cast(&numbers, kind)
            .or_else(|| cast(&cast(&numbers, &DataType::Int32)?, kind))
            .or_else(|| cast(&cast(&numbers, &DataType::Utf8)?, kind))
            .unwrap_or_else(|| panic!("{kind}")),
    }
}

fn every_type() -> Vec<DataType> {
    use DataType::*;
    use TimeUnit::*;
    let mut kinds = vec![
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(2),
        Null,
        Time32(Second),
        Time32(Millisecond),
        Time64(Microsecond),
        Time64(Nanosecond),
        Decimal32(9, 2),
        Decimal64(18, 3),
        Decimal128(38, 5),
        Decimal256(70, 9),
        Dictionary(Box::new(Int8), Box::new(Utf8)),
        Dictionary(Box::new(UInt32), Box::new(LargeUtf8)),
    ];
    for unit in [Second, Millisecond, Microsecond, Nanosecond] {
        kinds.push(Duration(unit));
        for zone in [None, Some("UTC"), Some("+05:30"), Some("Europe/Berlin")] {
            kinds.push(Timestamp(unit, zone.map(Into::into)));
        }
    }
    kinds
}

/// An array of each type as it is and inside of lists and structs, with nulls at each level.
fn every_column() -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("doc_id".into(), strings(&["a", "b", "c"])),
        ("body".into(), strings(&["x", "y", "z"])),
    ];
    let nulls = || Some(arrow_buffer::NullBuffer::from(vec![true, false, true]));
    for kind in every_type() {
        let values = sample(&kind);
        let item = || Arc::new(Field::new_list_field(kind.clone(), true));
        let offsets = || arrow_buffer::OffsetBuffer::from_lengths([2, 0, 1]);
        let list = ListArray::new(item(), offsets(), values.clone(), nulls());
        let offsets = || arrow_buffer::OffsetBuffer::from_lengths([0, 0, 3]);
        let large = LargeListArray::new(item(), offsets(), values.clone(), None);
        let inner = Arc::new(Field::new("inner", list.data_type().clone(), true));
        let plain = Arc::new(Field::new("plain", kind.clone(), true));
        let arrays: Vec<ArrayRef> = vec![values.clone(), Arc::new(list.clone())];
        let nested = StructArray::new(vec![plain, inner].into(), arrays, nulls());
        let mut all: Vec<(&str, ArrayRef)> = vec![
            ("plain", values.clone()),
            ("list", Arc::new(list)),
            ("large", Arc::new(large)),
            ("struct", Arc::new(nested)),
        ];
        // Parquet has no fixed lists of nulls.
        if kind != DataType::Null {
            all.push((
                "fixed",
                Arc::new(FixedSizeListArray::new(item(), 1, values, None)),
            ));
        }
        columns.extend(
            all.into_iter()
                .map(|(what, array)| (format!("{what} {kind}"), array)),
        );
    }
    let mut map = arrow_array::builder::MapBuilder::new(
        None,
        arrow_array::builder::StringBuilder::new(),
        Int32Builder::new(),
    );
    for (key, value) in [("k", Some(1)), ("l", None), ("m", Some(2))] {
        map.keys().append_value(key);
        map.values().append_option(value);
        map.append(value.is_some()).unwrap();
    }
    columns.push(("map".into(), Arc::new(map.finish())));
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

fn arrow_reads(bytes: &[u8]) -> RecordBatch {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::open(write(folder.path(), "x.parquet", bytes)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

#[test]
fn every_type_that_parquet_holds_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let batch = every_column();
    let empty = batch.slice(0, 0);
    for (rows, group) in [(&batch, 1), (&batch, 2), (&batch, 10), (&empty, 10)] {
        let bytes = parquet(std::slice::from_ref(rows), group);
        let expected = arrow_reads(&bytes);
        let table = read(&write(folder.path(), "x.parquet", &bytes)).unwrap();
        // Nothing but that there is no record.
        assert_eq!(table.notes().len(), usize::from(rows.num_rows() == 0));
        let found = gather(&table);
        for (at, field) in expected.schema().fields().iter().enumerate() {
            let name = field.name();
            assert_eq!(
                found.schema().field(at).data_type(),
                field.data_type(),
                "{name}"
            );
            assert_eq!(found.column(at), expected.column(at), "{name}, {group}");
        }
        // What is written is read the same again.
        let again = arrow_reads(&parquet(std::slice::from_ref(&found), 10));
        assert_eq!(again, found);
        if rows.num_rows() > 0 {
            assert_eq!(found, *rows);
        }
    }
}

#[test]
fn metadata_stays_where_all_inputs_agree() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
        pairs
            .iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect()
    };
    let file = |name: &str, x: ArrayRef, of_schema: &[(&str, &str)], of_x: &[(&str, &str)]| {
        let fields = vec![
            Field::new("doc_id", DataType::Utf8, true),
            Field::new("body", DataType::Utf8, true).with_metadata(pairs(&[("lang", "en")])),
            Field::new("x", x.data_type().clone(), true).with_metadata(pairs(of_x)),
        ];
        let schema = Arc::new(Schema::new_with_metadata(fields, pairs(of_schema)));
        let columns = vec![strings(&[name]), strings(&["t"]), x];
        let batch = RecordBatch::try_new(schema, columns).unwrap();
        write(folder.path(), name, parquet(&[batch], 10))
    };
    let int = || -> ArrayRef { Arc::new(Int32Array::from(vec![1])) };
    let long = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    let a = file(
        "a.parquet",
        int(),
        &[("pandas", "1"), ("k", "v")],
        &[("unit", "m"), ("q", "1")],
    );
    let b = file(
        "b.parquet",
        int(),
        &[("pandas", "2"), ("k", "v")],
        &[("unit", "m")],
    );
    let c = file("c.parquet", long(), &[("k", "v")], &[("unit", "m")]);
    let csv = write(folder.path(), "d.csv", "doc_id,body\nd,t\n");
    let json = write(
        folder.path(),
        "e.jsonl",
        "{\"doc_id\":\"e\",\"body\":\"t\"}\n",
    );
    let silent = write(folder.path(), "f.jsonl", "");
    let metadata = |paths: &[&Path]| {
        let mut all = Vec::new();
        for reversed in [false, true] {
            let mut paths = paths.to_vec();
            if reversed {
                paths.reverse();
            }
            let schema = read_with(options(&paths), 2).unwrap().0.schema();
            let of = |name: &str| schema.field_with_name(name).unwrap().metadata().clone();
            all.push([schema.metadata().clone(), of("body"), of("x")]);
        }
        assert_eq!(all[0], all[1]);
        all.remove(0)
    };
    let en = pairs(&[("lang", "en")]);
    let unit = pairs(&[("unit", "m")]);
    let k = pairs(&[("k", "v")]);
    let of_a = [
        pairs(&[("pandas", "1"), ("k", "v")]),
        en.clone(),
        pairs(&[("unit", "m"), ("q", "1")]),
    ];
    assert_eq!(metadata(&[&a]), of_a);
    assert_eq!(metadata(&[&a, &silent]), of_a);
    assert_eq!(metadata(&[&a, &b]), [k.clone(), en.clone(), unit.clone()]);
    // What is said of one type need not hold of another.
    assert_eq!(metadata(&[&a, &b, &c]), [k, en, pairs(&[])]);
    for other in [&csv, &json] {
        assert_eq!(
            metadata(&[&b, other]),
            [pairs(&[]), pairs(&[]), unit.clone()]
        );
    }
}

#[test]
fn metadata_of_ids_goes_with_their_floats() {
    let folder = tempfile::tempdir().unwrap();
    let ids: [(ArrayRef, bool); 2] = [
        (Arc::new(Int64Array::from(vec![1, 2])), true),
        (Arc::new(Float64Array::from(vec![1.0, 2.0])), false),
    ];
    for (ids, stays) in ids {
        let tagged = |name: &str, kind: &DataType| {
            let metadata = HashMap::from([("k".to_string(), name.to_string())]);
            Field::new(name, kind.clone(), true).with_metadata(metadata)
        };
        let fields = vec![
            tagged("a", &DataType::Float64),
            tagged("doc_id", ids.data_type()),
            tagged("body", &DataType::Utf8),
        ];
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.0]));
        let columns = vec![floats, ids, strings(&["t", "u"])];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        // In two row groups, so that footers that were let go are compared.
        let table = read(&write(folder.path(), "x.parquet", parquet(&[batch], 1))).unwrap();
        assert_eq!(table.notes(), [""; 0]);
        for field in table.schema().fields() {
            let kept = field.metadata().get("k") == Some(field.name());
            assert_eq!(kept, stays || field.name() != "doc_id", "{field}");
        }
    }
}

#[test]
fn columns_that_become_another_type_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, x: ArrayRef| {
        let ids = strings(&[name]);
        let batch =
            RecordBatch::try_from_iter([("doc_id", ids), ("body", strings(&["t"])), ("x", x)]);
        write(folder.path(), name, parquet(&[batch.unwrap()], 10))
    };
    let text = |name: &str, text: &str| write(folder.path(), name, text);
    let int = file("a.parquet", Arc::new(Int32Array::from(vec![1])));
    let long = file("b.parquet", Arc::new(Int64Array::from(vec![1])));
    let large = file("c.parquet", Arc::new(LargeStringArray::from(vec!["l"])));
    let null = file("d.parquet", new_null_array(&DataType::Null, 1));
    let csv = text("e.csv", "doc_id,body,x\ne,t,1\n");
    let json = |name: &str, values: &[&str]| {
        let line = |(i, x): (usize, &&str)| {
            format!("{{\"doc_id\":\"{name}{i}\",\"body\":\"t\",\"x\":{x}}}\n")
        };
        text(
            name,
            &values.iter().enumerate().map(line).collect::<String>(),
        )
    };
    let ints = json("f.jsonl", &["1", "null"]);
    let floats = json("g.jsonl", &["1.5"]);
    let mixed = json("h.jsonl", &["1", "\"s\""]);
    let object = json("i.jsonl", &["{\"p\":1}"]);
    let other = json("j.jsonl", &["{\"q\":1}"]);
    let strings = json("k.jsonl", &["\"s\""]);
    let nan = json("l.jsonl", &["NaN", "null"]);
    let longer = json("m.jsonl", &["1", "12345678901234567890123"]);
    let unsigned = json("n.jsonl", &["18446744073709551615"]);
    let negative = json("o.jsonl", &["-1"]);
    let lists = json("p.jsonl", &["[-1]", "[18446744073709551615]"]);
    let float = file("q.parquet", Arc::new(Float32Array::from(vec![0.5])));
    let cases: Vec<(Vec<&Path>, Option<&str>)> = vec![
        (vec![&int], None),
        (vec![&int, &null], None),
        (
            vec![&int, &long],
            Some("is Int32 in a.parquet, Int64 in b.parquet: it is read as Int64"),
        ),
        (vec![&large, &csv, &strings], None),
        (
            vec![&int, &csv],
            Some("is Int32 in a.parquet, text in e.csv: it is read as text"),
        ),
        (vec![&long, &ints], None),
        (
            vec![&int, &ints],
            Some("is Int32 in a.parquet, Int64 in f.jsonl: it is read as Int64"),
        ),
        (
            vec![&ints, &floats],
            Some("is Int64 in f.jsonl, Float64 in g.jsonl: it is read as Float64"),
        ),
        (
            vec![&mixed],
            Some("is of no one type in h.jsonl: it is read as text"),
        ),
        (
            vec![&ints, &mixed, &strings],
            Some(
                "is Int64 in f.jsonl, of no one type in h.jsonl, text in k.jsonl: it is read as text",
            ),
        ),
        (vec![&object, &other], None),
        (vec![&nan], None),
        (vec![&nan, &ints], None),
        (vec![&nan, &floats], None),
        (vec![&nan, &strings], None),
        (vec![&nan, &csv], None),
        (vec![&nan, &null], None),
        (vec![&nan, &long], None),
        (
            vec![&float, &nan],
            Some("is Float32 in q.parquet: it is read as Float64"),
        ),
        (
            vec![&longer],
            Some("is of values that no type holds in m.jsonl: it is read as text"),
        ),
        (
            vec![&lists],
            Some("is of values that no type holds in p.jsonl: it is read as text"),
        ),
        (vec![&unsigned], None),
        (
            vec![&ints, &unsigned],
            Some("is Int64 in f.jsonl, UInt64 in n.jsonl: it is read as UInt64"),
        ),
        (
            vec![&unsigned, &negative],
            Some("is UInt64 in n.jsonl, Int64 in o.jsonl: it is read as text"),
        ),
        (
            vec![&ints, &object],
            Some("is Int64 in f.jsonl, Struct(\"p\": Int64) in i.jsonl: it is read as text"),
        ),
    ];
    for (paths, expected) in cases {
        let notes = read_with(options(&paths), 2).unwrap().0.notes();
        let notes: Vec<String> = notes
            .iter()
            .map(|note| note.replace(&format!("{}/", folder.path().display()), ""))
            .collect();
        let expected: Vec<String> = expected
            .map(|e| format!("column `x` {e}"))
            .into_iter()
            .collect();
        assert_eq!(notes, expected);
    }
}
