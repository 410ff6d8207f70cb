//! Runs the command as a user does, and reads what it leaves.

#![allow(dead_code, reason = "each test program uses some of these")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

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

    /// What it said, if the user was at fault: exit code 2, one line and perhaps a hint.
    pub(crate) fn fault(&self) -> String {
        let said = self.stderr();
        assert_eq!(self.0.status.code(), Some(2), "{said}");
        assert!(self.0.stdout.is_empty());
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("hint: ")).collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert!(lines[0].starts_with("error: "), "{said}");
        said
    }

    /// Standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}

/// Runs the command. Progress is off unless asked for.
pub(crate) fn twinfold(arguments: &[&str]) -> Run {
    twinfold_with_input(arguments, "")
}

/// Runs the command with something on its standard input.
pub(crate) fn twinfold_with_input(arguments: &[&str], input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twinfold"));
    command.args(arguments);
    if arguments.first() == Some(&"run") && !arguments.contains(&"--progress") {
        command.args(["--progress", "never"]);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A run that stops at once does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Run(child.wait_with_output().unwrap())
}

/// The rows of a CSV file, without the header.
pub(crate) fn csv_rows(path: &Path) -> Vec<csv::StringRecord> {
    csv::Reader::from_path(path).unwrap().records().map(|row| row.unwrap()).collect()
}

/// The record batches of a Parquet file.
pub(crate) fn parquet_batches(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    reader.build().unwrap().map(|batch| batch.unwrap()).collect()
}
