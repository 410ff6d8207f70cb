//! CSV as people have it: stray quotes, other delimiters, odd headers.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::path::Path;

use source_helpers::*;
use twinfold_io::source::{Delimiter, Place, Quotes, SourceError, Table};

/// Reads with this delimiter and these quotes, on one and on three threads, plain and compressed.
fn read_as(
    name: &str,
    text: &[u8],
    delimiter: Option<&str>,
    quotes: Quotes,
) -> Result<Table, SourceError> {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, threads| {
        let path = write(folder.path(), name, compressed(name, text));
        let mut options = options(&[&path]);
        options.delimiter = delimiter.map(|text| text.parse().unwrap());
        options.quotes = quotes;
        read_with(options, threads).map(|(table, _)| table)
    };
    let first = run(name, 1);
    for other in [
        name.to_string(),
        format!("{name}.gz"),
        format!("{name}.zst"),
    ] {
        match (&first, run(&other, 3)) {
            (Ok(first), Ok(table)) => {
                assert_eq!(gather(first), gather(&table), "{other}");
                assert_eq!(reasons(first), reasons(&table), "{other}");
            }
            (Err(first), Err(error)) => {
                let said = error.to_string().replace(&other, name);
                assert_eq!(said, first.to_string());
            }
            (first, second) => panic!("{other}: {first:?} and {second:?}"),
        }
    }
    first
}

fn read_auto(name: &str, text: impl AsRef<[u8]>) -> Table {
    read_as(name, text.as_ref(), None, Quotes::Auto).unwrap_or_else(|error| panic!("{error}"))
}

fn reasons(table: &Table) -> Vec<(Place, String)> {
    table
        .rejected()
        .iter()
        .map(|r| (r.place, r.reason.clone()))
        .collect()
}

/// Ids in the order of the file, and the lines of the rejected records.
fn outcome(table: &Table) -> (Vec<&str>, Vec<u64>) {
    let mut ids: Vec<(Place, &str)> = (0..table.len())
        .map(|rank| (table.place(rank).1, table.id(rank)))
        .collect();
    ids.sort();
    let lines = table.rejected().iter().map(|r| match r.place {
        Place::Line(line) => line,
        Place::Row(row) => panic!("row {row}"),
    });
    (ids.into_iter().map(|(_, id)| id).collect(), lines.collect())
}

/// `rows` lines of three fields, of which some have something else for their middle one.
fn lines(rows: usize, delimiter: char, end: &str, odd: &[(usize, &str)]) -> String {
    let mut text = format!("id{delimiter}word{delimiter}text{end}");
    for row in 0..rows {
        let word = odd.iter().find(|(at, _)| *at == row);
        let word = word.map_or("plain", |(_, word)| word);
        text += &format!("r{row:05}{delimiter}{word}{delimiter}some text{end}");
    }
    text
}

/// A stray quote costs its own line and no other, whatever comes after it and however far away.
#[test]
fn a_stray_quote_costs_one_line() {
    for rows in [12, 400, 60_000] {
        let last = rows - 1;
        // What is on another line, and what is said of the lines up to there.
        let others: [(Option<&str>, &str); 5] = [
            (None, "is never closed"),
            (Some("in \"Heroes\" again"), "a quote that ends no field"),
            (Some("\"Other\" word"), "a quote that ends no field"),
            (Some("5\""), "look like records of their own"),
            (Some("\""), "look like records of their own"),
        ];
        for (name, delimiter) in [("x.csv", ','), ("x.tsv", '\t')] {
            let ends = ["\n", "\r\n", "\r"];
            for end in &ends[..if rows > 1000 { 1 } else { 3 }] {
                for (other, said) in &others {
                    let mut odd = vec![(2, "\"Heroes")];
                    odd.extend(other.map(|other| (last - 1, other)));
                    let table = read_auto(name, lines(rows, delimiter, end, &odd));
                    let what = format!("{name} {rows} {end:?} {other:?}");
                    let (ids, rejected) = outcome(&table);
                    // A lone quote opens a field as well.
                    let opens = *other == Some("\"");
                    assert_eq!(ids.len(), last - usize::from(opens), "{what}");
                    assert_eq!(rejected[0], 4, "{what}");
                    assert_eq!(rejected.len(), 1 + usize::from(opens), "{what}");
                    let reason = &table.rejected()[0].reason;
                    let taken = match other {
                        None => rows - 2,
                        Some(_) => last - 2,
                    };
                    for part in [
                        *said,
                        "opens in line 4",
                        &format!("{taken} lines"),
                        "--quote none",
                    ] {
                        assert!(reason.contains(part), "{what}: {reason}");
                    }
                }
            }
        }
    }
}

#[test]
fn without_quotes_nothing_is_rejected() {
    let odd = [
        (1, "\""),
        (3, "\"Heroes"),
        (5, "5\""),
        (7, "\"a\" b"),
        (8, "\"\""),
    ];
    for (name, delimiter) in [("x.csv", ','), ("x.tsv", '\t')] {
        let text = lines(10, delimiter, "\n", &odd);
        let table = read_as(name, text.as_bytes(), None, Quotes::Never).unwrap();
        assert!(table.rejected().is_empty());
        let batch = gather(&table);
        let words = batch.column_by_name("word").unwrap();
        let words: Vec<&str> = arrow_array::cast::AsArray::as_string::<i32>(words)
            .iter()
            .flatten()
            .collect();
        for (at, word) in odd {
            assert_eq!(words[at], word);
        }
    }
    // The words of the header are taken as they are, too.
    let error = read_as("x.csv", b"\"id\",\"text\"\n1,a\n", None, Quotes::Never).unwrap_err();
    assert!(error.to_string().contains("`\"text\"`"), "{error}");
}

/// Quoted fields over many lines are texts, in CSV and in TSV, wherever they stand.
#[test]
fn quoted_fields_over_many_lines_are_read() {
    let poem = "Roses are red, they say\nViolets are blue, they say\nSugar is sweet, they say";
    let table = "a;b;c\n1;2;3\n4;5;6";
    let long = "one line of a long text, with \"quotes\" in it\n".repeat(50_000);
    for text in [
        poem,
        table,
        &long,
        "\n\n\n",
        "\r\n,\r\n",
        "a\n",
        "\n",
        "x\ny, z",
    ] {
        for ending in ["csv", "tsv", "csv.gz", "tsv.gz"] {
            for title in [None, Some("two\nlines")] {
                let docs: Vec<Doc> = (0..5)
                    .map(|i| doc(&format!("d{i}"), title.or(Some("t")), text))
                    .collect();
                let folder = tempfile::tempdir().unwrap();
                let path = write(folder.path(), &format!("x.{ending}"), bytes(ending, &docs));
                let table = read(&path).unwrap();
                assert!(table.rejected().is_empty(), "{text:?} {ending}");
                assert!(
                    (0..5).all(|rank| table.text(rank) == text),
                    "{text:?} {ending}"
                );
            }
        }
    }
}

/// In a file of two columns, a text whose lines have a comma each is a text.
#[test]
fn verses_with_a_comma_each_are_one_field() {
    for lines in [2, 8, 11, 40] {
        let verse = |n: usize| format!("verse {n} of it, and its other half");
        let poem: Vec<String> = (0..lines).map(verse).collect();
        let poem = poem.join("\n");
        let text = format!("id,text\n1,\"{poem}\"\n2,\"{poem}\"\n");
        let table = read_as("x.csv", text.as_bytes(), None, Quotes::Auto).unwrap();
        assert_eq!(outcome(&table), (vec!["1", "2"], vec![]), "{lines}");
        assert_eq!(table.text(1), poem);
    }
}

/// What looks like records is taken as they are unless the user vouches for the quotes.
#[test]
fn a_table_in_a_field_can_be_vouched_for() {
    let inner = "a,b,c\n".repeat(30);
    let text = format!("id,text,n\n1,\"x\n{inner}b,c\",5\n2,y,6\n");
    let id = {
        let table = read_as("x.csv", text.as_bytes(), None, Quotes::Auto);
        // Its lines all have the id `a`.
        match table {
            Err(SourceError::DuplicateId { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(id, "a");
    let table = read_as("x.csv", text.as_bytes(), None, Quotes::Always).unwrap();
    assert_eq!(table.text(0), format!("x\n{inner}b,c"));
    assert_eq!(outcome(&table), (vec!["1", "2"], vec![]));
    // In a file of one column every line has as many fields as the header.
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "x.csv",
        format!("text\n\"{}\"\n", "a\n".repeat(20)),
    );
    let mut options = options(&[&path]);
    options.make_ids = true;
    assert_eq!(read_with(options, 1).unwrap().0.len(), 1);
}

/// A record with the wrong number of fields says what quotes have to do with it.
#[test]
fn wrong_numbers_of_fields() {
    let text =
        "id,word,text\n1,\"a,b\n2,c,d\"\n3,\",\",x\n4,\"x\ny\nz\",a,b\n5,ok,ok\n6,a\n7,\",\",x,y\n";
    let table = read_auto("x.csv", text);
    let found = reasons(&table);
    let expected = [
        (
            2,
            "the quote that opens in line 2 runs over 2 lines that look like records of their own",
        ),
        (
            5,
            "the record has 4 fields, the header has 3; its quotes take 3 lines (--quote none",
        ),
        (9, "the record has 2 fields, the header has 3"),
        (10, "the record has 4 fields, the header has 3"),
    ];
    for ((place, reason), (line, part)) in found.iter().zip(expected) {
        assert!(
            *place == Place::Line(line) && reason.starts_with(part),
            "{found:?}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{found:?}");
    let table = read_auto("x.tsv", "id\tword\ttext\n1\t\"\t\"\n2\t\"\tx\n3\tb\tc\n");
    let found = reasons(&table);
    assert!(
        found[0]
            .1
            .contains("if quotes were plain characters (--quote none)"),
        "{found:?}"
    );
    assert_eq!(outcome(&table), (vec!["3"], vec![2, 3]));
}

/// The line of a stray quote may be any of the record's.
#[test]
fn a_stray_quote_after_a_quoted_field() {
    let text = "id,a,text\n1,\"two\nlines\",\"stray\n2,x,y\n3,x \"y\",z\n4,\"a \"b\" c\",d\n5,\"e\n\"f\" g\",h\n";
    let table = read_auto("x.csv", text);
    assert_eq!(outcome(&table), (vec!["2", "3", "4"], vec![2, 7, 8]));
    let found = reasons(&table);
    assert!(
        found[0].1.contains("opens in line 3 runs over 3 lines"),
        "{found:?}"
    );
    assert!(found[0].1.contains("goes on after line 3"), "{found:?}");
}

#[test]
fn every_delimiter() {
    for (delimiter, given) in [
        (';', ";"),
        ('|', "|"),
        ('\t', "tab"),
        ('\t', "\\t"),
        ('\t', "\t"),
        (',', ","),
        (' ', " "),
        ('\u{1}', "\\x01"),
        ('~', "~"),
    ] {
        let text = format!(
            "id{delimiter}text\n1{delimiter}one\n2{delimiter}\"a{delimiter}b\n\"\"c\"\"\"\n"
        );
        for name in ["x.csv", "x.tsv"] {
            let table = read_as(name, text.as_bytes(), Some(given), Quotes::Auto).unwrap();
            assert_eq!(table.text(1), format!("a{delimiter}b\n\"c\""));
            assert_eq!((table.len(), table.rejected().len()), (2, 0));
            // Without the option, the error says what to type.
            let own = if name == "x.csv" { ',' } else { '\t' };
            let usual = ";|\t,\u{1}".contains(delimiter);
            match read_as(name, text.as_bytes(), None, Quotes::Auto) {
                Ok(table) => assert!(delimiter == own && table.len() == 2),
                Err(error) => {
                    let hint = error.hint().unwrap();
                    let typed = match given {
                        "tab" | "\t" | "\\t" => "add --delimiter tab".to_string(),
                        given => format!("add --delimiter '{given}'"),
                    };
                    assert_eq!(hint == typed, usual, "{error} {hint}");
                    assert!(error.to_string().contains(name));
                }
            }
        }
        let parsed: Delimiter = given.parse().unwrap();
        assert_eq!(parsed.to_string().parse(), Ok(parsed));
    }
    for text in [
        "", ";;", "\"", "\n", "\r", "é", "\\x", "\\x0", "\\x80", "\\x00", "\\x0a", "\\x+1", "\\xg1",
    ] {
        assert!(text.parse::<Delimiter>().is_err(), "{text:?}");
    }
}

/// The delimiter is only blamed if another one explains the header.
#[test]
fn another_delimiter_is_suggested() {
    let hint = |text: &str| {
        let error = read_as("x.csv", text.as_bytes(), None, Quotes::Auto).unwrap_err();
        (error.to_string(), error.hint().unwrap())
    };
    let (error, said) = hint("id;title, long;text\n1;a;b\n");
    assert!(
        error.contains("looks like 3 columns separated by `;`"),
        "{error}"
    );
    assert_eq!(said, "add --delimiter ';'");
    let (_, said) = hint("key;word\n1;a\n");
    assert_eq!(said, "add --delimiter ';'");
    let (error, said) = hint("a;b,c\n1,a\n");
    assert!(error.contains("no text column"), "{error}");
    assert!(said.contains("--text-column"), "{said}");
    let (error, _) = hint(&format!("{}\n", "id;text;".repeat(100)));
    assert!(error.len() < 300, "{error}");
}

#[test]
fn the_line_for_excel() {
    for (line, delimiter) in [
        ("sep=;", ';'),
        ("SEP=|", '|'),
        ("\"sep=\t\"", '\t'),
        ("sep=,", ','),
    ] {
        for end in ["\n", "\r\n", "\r"] {
            for mark in ["", "\u{feff}"] {
                let text =
                    format!("{mark}{line}{end}id{delimiter}text{end}1{delimiter}a{end}2{end}");
                let table = read_auto("x.csv", &text);
                assert_eq!(
                    (table.text(0), table.place(0).1),
                    ("a".into(), Place::Line(3))
                );
                assert_eq!(table.rejected()[0].place, Place::Line(4));
            }
        }
    }
    // What the user says goes first, and the line is none of the data.
    let table = read_as("x.csv", b"sep=;\nid|text\n1|a\n", Some("|"), Quotes::Auto).unwrap();
    assert_eq!(table.text(0), "a");
}

#[test]
fn settings_for_csv_without_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "x.jsonl", "{\"id\":1,\"text\":\"a\"}\n");
    let run = |path: &Path, change: &dyn Fn(&mut twinfold_io::source::SourceOptions)| {
        let mut options = options(&[path]);
        change(&mut options);
        read_with(options, 1).map(|(table, _)| table.len())
    };
    let delimiter = |options: &mut twinfold_io::source::SourceOptions| {
        options.delimiter = Some(";".parse().unwrap());
    };
    let quotes = |options: &mut twinfold_io::source::SourceOptions| options.quotes = Quotes::Never;
    for (change, name) in [
        (&delimiter as &dyn Fn(&mut _), "delimiter"),
        (&quotes, "quote"),
    ] {
        let error = run(&path, change).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.hint().unwrap().contains("--format csv"));
    }
    write(folder.path(), "y.csv", "id;text\n2;b\n");
    assert_eq!(run(folder.path(), &delimiter).unwrap(), 2);
}

/// Files that are no text are refused at once, not read to their end.
#[test]
fn what_is_no_text() {
    let wide = |text: &str, little: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect()
    };
    for (name, text) in [
        ("x.csv", "id,text\n1,a\n"),
        ("x.jsonl", "{\"id\":1,\"text\":\"a\"}\n"),
    ] {
        for (mark, little) in [
            ("\u{feff}", true),
            ("\u{feff}", false),
            ("", true),
            ("", false),
        ] {
            let bytes = wide(&format!("{mark}{text}"), little);
            match read_as(name, &bytes, None, Quotes::Auto).unwrap_err() {
                SourceError::Utf16 { endian, .. } => {
                    assert_eq!(endian == "little-endian", little);
                }
                other => panic!("{other}"),
            }
        }
        let zeros = read_as(name, &vec![0; 3 << 20], None, Quotes::Auto).unwrap_err();
        assert!(zeros.to_string().contains("NUL bytes"), "{zeros}");
        assert!(zeros.hint().is_some());
    }
    for header in ["id,te\0xt\n1,a\n", "\n\r\nid,text\0", "\0id,text\n"] {
        let error = read_as("x.csv", header.as_bytes(), None, Quotes::Auto).unwrap_err();
        assert!(error.to_string().contains("NUL"), "{error}");
    }
    // In a value it is a character.
    assert_eq!(read_auto("x.csv", "id,text\n1,a\0b\n").text(0), "a\0b");
}

/// A device without an end is no file without an end.
#[cfg(target_os = "linux")]
#[test]
fn a_device_without_an_end() {
    for format in ["csv", "jsonl"] {
        let mut options = options(&[Path::new("/dev/zero")]);
        options.format = Some(format.parse().unwrap());
        let error = read_with(options, 1).unwrap_err();
        assert!(error.to_string().contains("/dev/zero"), "{error}");
        assert!(error.to_string().contains("NUL bytes"), "{error}");
    }
}

#[test]
fn headers_with_a_stray_quote() {
    for text in [
        "id,\"text\n1,a\n",
        "id,\"text\n1,a \"b\" c\n",
        "\"id,text\n\"x\" 1,a\n",
    ] {
        let error = read_as("x.csv", text.as_bytes(), None, Quotes::Auto).unwrap_err();
        assert!(error.to_string().contains("header line"), "{error}");
        assert!(error.hint().unwrap().contains("--quote none"));
    }
    let table = read_auto("x.csv", "id,\"text\",\"of\ntwo lines\"\n1,a,b\n");
    assert_eq!(table.column_names(), ["id", "text", "of\ntwo lines"]);
    // Delimiters at the ends of lines are columns without a name; too many of them are said.
    assert_eq!(
        read_auto("x.csv", "id,text,\n1,a,\n").column_names(),
        ["id", "text", "column_3"]
    );
    let table = read_auto("x.csv", "id,text\n1,a,\n2,b\n");
    assert_eq!(outcome(&table), (vec!["2"], vec![2]));
}
