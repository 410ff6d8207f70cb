//! Runs the command as a user does, and reads what it leaves.

#![allow(dead_code, reason = "each test program uses some of these")]
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

pub(crate) mod corpus;
pub(crate) mod texts;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use tempfile::TempDir;

/// A run of the command that has ended.
pub(crate) struct Run(Output);

impl Run {
    /// What it printed, if it succeeded.
    pub(crate) fn success(&self) -> String {
        assert!(
            self.0.status.success(),
            "{:?}\n{}{}",
            self.0.status,
            String::from_utf8_lossy(&self.0.stdout),
            self.stderr()
        );
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    /// The summary that `--json` printed, and nothing but it.
    pub(crate) fn json(&self) -> Value {
        let printed = self.success();
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
    }

    /// What it said, if the user was at fault: exit code 2, one line and perhaps a hint.
    pub(crate) fn fault(&self) -> String {
        let said = self.stderr();
        assert_eq!(self.0.status.code(), Some(2), "{said}");
        assert!(self.0.stdout.is_empty());
        let lines: Vec<&str> = said
            .lines()
            .filter(|line| !line.starts_with("hint: "))
            .collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert!(lines[0].starts_with("error: "), "{said}");
        said
    }

    /// [`Run::fault`], which has to contain each of `parts`.
    #[track_caller]
    pub(crate) fn fault_with(&self, parts: &[&str]) -> String {
        let said = self.fault();
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in: {said}");
        }
        said
    }

    /// Standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// The exit code.
    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }
}

/// Runs the command. Progress is off unless asked for.
pub(crate) fn twinfold(arguments: &[&str]) -> Run {
    twinfold_with_input(arguments, "")
}

/// Runs the command with something on its standard input.
pub(crate) fn twinfold_with_input(arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = command(arguments).spawn().unwrap();
    // A run that stops at once does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_ref());
    Run(child.wait_with_output().unwrap())
}

/// The command with all three streams piped, not yet started.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twinfold"));
    command.args(arguments);
    let shows = matches!(arguments.first(), Some(&"run" | &"recall"));
    if shows && !arguments.contains(&"--progress") {
        command.args(["--progress", "never"]);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits for a command that was started by hand.
pub(crate) fn ended(child: std::process::Child) -> Run {
    Run(child.wait_with_output().unwrap())
}

/// A temporary folder with the inputs and outputs of a test.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A path in the folder, whether or not it is there.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same as an argument.
    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, and returns it as an argument.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        self.name(name)
    }

    /// `twinfold run INPUTS --out NAME EXTRA`.
    pub(crate) fn run(&self, inputs: &[&str], out: &str, extra: &[&str]) -> Run {
        let out = self.name(out);
        twinfold(&[&["run"], inputs, &["--out", &out], extra].concat())
    }

    /// [`Bench::run`] with `--json`; the summary.
    pub(crate) fn summary(&self, inputs: &[&str], out: &str, extra: &[&str]) -> Value {
        self.run(inputs, out, &[extra, &["--json"]].concat()).json()
    }

    /// The rows of a published CSV relation.
    pub(crate) fn csv(&self, out: &str, relation: &str) -> Vec<csv::StringRecord> {
        csv_rows(&self.path(out).join(format!("{relation}.csv")))
    }

    /// The groups of two or more ids that ended in one cluster, each sorted.
    pub(crate) fn clusters(&self, out: &str) -> Vec<Vec<String>> {
        let mut clusters: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.csv(out, "clusters") {
            clusters
                .entry(row[0].to_owned())
                .or_default()
                .push(row[1].to_owned());
        }
        clusters
            .into_values()
            .filter(|ids| ids.len() > 1)
            .map(|mut ids| {
                ids.sort();
                ids
            })
            .collect()
    }

    /// The records of a run on one file, over whatever was there before.
    pub(crate) fn records(&self, file: &str) -> [u64; 4] {
        records(&self.summary(&[file], "out", &["--overwrite"]))
    }

    /// The lines of `rejected.jsonl`.
    pub(crate) fn rejected(&self, out: &str) -> Vec<Value> {
        std::fs::read_to_string(self.path(out).join("rejected.jsonl"))
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// The records of a summary, which have to add up.
pub(crate) fn records(summary: &Value) -> [u64; 4] {
    let records = ["read", "used", "empty", "rejected"]
        .map(|name| summary["records"][name].as_u64().unwrap());
    assert_eq!(
        records[0],
        records[1] + records[2] + records[3],
        "{records:?}"
    );
    let counts = &summary["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(records[1], count("documents"));
    assert_eq!(records[2], count("empty_documents"));
    records
}

/// Every file below a folder, by its path in it; folders end in `/`.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap().to_owned();
        if entry.path().is_dir() {
            for (inner, bytes) in files(&entry.path()) {
                found.insert(format!("{name}/{inner}"), bytes);
            }
            found.insert(format!("{name}/"), Vec::new());
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// The files of an output folder, the manifest without what names inputs and machines.
pub(crate) fn relations(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(folder);
    let mut manifest: Value = serde_json::from_slice(&found["manifest.json"]).unwrap();
    let fields = manifest.as_object_mut().unwrap();
    fields.remove("environment").unwrap();
    fields.remove("inputs").unwrap();
    for key in ["inputs", "format"] {
        fields["configuration"].as_object_mut().unwrap().remove(key);
    }
    found.insert("manifest.json".into(), manifest.to_string().into_bytes());
    found
}

/// Fails with the name of the first file that differs, rather than with its bytes.
#[track_caller]
pub(crate) fn assert_same(
    found: &BTreeMap<String, Vec<u8>>,
    expected: &BTreeMap<String, Vec<u8>>,
    what: &str,
) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{what}");
    for (name, bytes) in found {
        if *bytes != expected[name] {
            let show = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes);
                text.chars().take(3000).collect::<String>()
            };
            let readable = !name.ends_with(".parquet");
            panic!(
                "{what}: {name} differs{}",
                if readable {
                    format!(":\n{}\n--\n{}", show(bytes), show(&expected[name]))
                } else {
                    String::new()
                }
            );
        }
    }
}

/// The rows of a CSV file, without the header.
pub(crate) fn csv_rows(path: &Path) -> Vec<csv::StringRecord> {
    csv::Reader::from_path(path)
        .unwrap()
        .records()
        .map(|row| row.unwrap())
        .collect()
}

/// The record batches of a Parquet file.
pub(crate) fn parquet_batches(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    reader
        .build()
        .unwrap()
        .map(|batch| batch.unwrap())
        .collect()
}

/// Four documents, of which the third is removed as a copy of the first.
pub(crate) fn with_columns(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let texts = [
        "the very same text",
        "another text altogether",
        "the very same text",
        "and one more of its own",
    ];
    let id: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d"]));
    let text: ArrayRef = Arc::new(LargeStringArray::from(texts.to_vec()));
    let all = [("doc_id", id), ("body", text)].into_iter().chain(columns);
    RecordBatch::try_from_iter_with_nullable(all.map(|(name, array)| (name, array, true))).unwrap()
}

/// Runs on a Parquet file of the batch, and returns the kept documents.
pub(crate) fn kept(bench: &Bench, batch: &RecordBatch, extra: &[&str]) -> RecordBatch {
    let file = bench.write("in.parquet", corpus::parquet_file(batch, 3));
    bench
        .run(
            &[&file],
            "out",
            &[extra, &["--quiet", "--overwrite", "--publish", "all"]].concat(),
        )
        .success();
    let batches = parquet_batches(&bench.path("out/deduped_documents.parquet"));
    assert_eq!(batches.len(), 1);
    batches[0].clone()
}

/// A file with some documents.
pub(crate) fn document(bench: &Bench) -> String {
    bench.write(
        "documents.jsonl",
        corpus::encode("jsonl", &corpus::corpus(48)),
    )
}
