//! Bounded memory, the work folder, and going on from there.
//!
//! What does not fit in memory goes to files, and the results are the same bytes. A run that was
//! killed leaves its last whole stage, from which the same run goes on; any other is refused.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::corpus::{corpus, encode};
use common::{Bench, assert_same, command, ended, files, relations};

/// Settings that take other ways through the program.
const WAYS: [&[&str]; 7] = [
    &[],
    &["--edges", "spanning"],
    &["--linkage", "star", "--threshold", "0.5"],
    &["--keep-numbers"],
    &[
        "--candidates",
        "lsh",
        "--hashes",
        "32",
        "--bands",
        "16",
        "--rows",
        "2",
    ],
    &["--block-by", "length", "--keep", "token_count, doc_id"],
    &["--preset", "tutorial"],
];

/// The last whole stage of a work folder.
fn stage(work: &Path) -> Option<String> {
    let record = fs::read(work.join("work.json")).ok()?;
    let record: serde_json::Value = serde_json::from_slice(&record).ok()?;
    Some(record["stage"].as_str()?.to_owned())
}

/// A corpus and what an unbroken run in memory makes of it.
struct Case {
    bench: Bench,
    input: String,
    whole: BTreeMap<String, Vec<u8>>,
}

impl Case {
    fn new(families: usize, format: &str, way: &[&str]) -> Self {
        let bench = Bench::new();
        let input = bench.write(&format!("in.{format}"), encode(format, &corpus(families)));
        let extra = [&["--quiet", "--publish", "all"], way].concat();
        bench.run(&[&input], "whole", &extra).success();
        let whole = relations(&bench.path("whole"));
        Self {
            bench,
            input,
            whole,
        }
    }

    /// The arguments of a run in a work folder.
    fn arguments<'a>(&'a self, out: &'a str, work: &'a str, way: &[&'a str]) -> Vec<&'a str> {
        let run = [
            "run",
            &self.input,
            "--out",
            out,
            "--work-dir",
            work,
            "--publish",
            "all",
            "--quiet",
        ];
        [&run[..], way].concat()
    }

    /// Runs until the stage is whole, and kills it there; whether it was in time.
    #[cfg(unix)]
    fn kill_after(&self, wanted: &str, out: &str, work: &str, way: &[&str]) -> bool {
        let mut child = command(&self.arguments(out, work, way)).spawn().unwrap();
        let start = Instant::now();
        while stage(Path::new(work)).as_deref() != Some(wanted) {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(start.elapsed() < Duration::from_secs(60));
            std::hint::spin_loop();
        }
        let _ = child.kill();
        ended(child).code().is_none()
    }
}

#[test]
fn the_same_bytes_from_files_as_from_memory() {
    for (number, way) in WAYS.into_iter().enumerate() {
        let format = ["csv", "jsonl", "parquet"][number % 3];
        let case = Case::new(40, format, way);
        for threads in ["1", "4"] {
            let (out, work) = (case.bench.name("out"), case.bench.name("deep/work"));
            let bound = ["--threads", threads, "--overwrite", "--memory", "256MiB"];
            let way = [way, &bound].concat();
            common::twinfold(&case.arguments(&out, &work, &way)).success();
            let what = format!("{way:?}");
            assert_same(&relations(Path::new(&out)), &case.whole, &what);
            assert!(!case.bench.path("deep").exists(), "{what}");
        }
    }
}

#[test]
#[cfg(unix)]
fn killed_after_every_stage_and_resumed() {
    for (number, way) in WAYS.into_iter().enumerate() {
        let case = Case::new(120, ["parquet", "csv", "jsonl"][number % 3], way);
        for wanted in ["read", "group", "join"] {
            let (out, work) = (case.bench.name("out"), case.bench.name("work"));
            let what = format!("{way:?}, killed after {wanted}");
            let mut attempts = 0;
            while !case.kill_after(wanted, &out, &work, way) {
                attempts += 1;
                assert!(attempts < 50, "{what}: it never was");
                let _ = fs::remove_dir_all(&work);
                let _ = fs::remove_dir_all(&out);
            }
            let last = stage(Path::new(&work)).unwrap();
            // Nothing looks whole, and nobody goes on unasked.
            assert!(!Path::new(&out).join("manifest.json").exists(), "{what}");
            let again = case.arguments(&out, &work, way);
            common::twinfold(&again).fault_with(&["holds an earlier run", &last, "--resume"]);
            // Shown, so that it is seen to go on.
            let again = [&again[..], &["--resume", "--progress", "always"]].concat();
            let run = common::twinfold(&again);
            run.success();
            let said = run.stderr();
            assert!(
                said.contains(&format!("going on after the stage {last}")),
                "{what}: {said}"
            );
            assert!(!said.contains("documents/s"), "{what} read again: {said}");
            assert_same(&relations(Path::new(&out)), &case.whole, &what);
            assert!(!Path::new(&work).exists(), "{what}");
            fs::remove_dir_all(&out).unwrap();
        }
    }
}

#[test]
#[cfg(unix)]
fn killed_at_any_moment_and_resumed() {
    let case = Case::new(120, "jsonl", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    for round in 0..40u64 {
        let mut child = command(&case.arguments(&out, &work, &[])).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 9));
        let _ = child.kill();
        let killed = ended(child).code().is_none();
        if killed && !Path::new(&out).join("manifest.json").exists() {
            let again = [&case.arguments(&out, &work, &[])[..], &["--resume"]].concat();
            common::twinfold(&again).success();
        }
        let what = format!("round {round}");
        assert_same(&relations(Path::new(&out)), &case.whole, &what);
        // Killed between its commit and its end, a run leaves its last stage.
        assert!(killed || !Path::new(&work).exists(), "{what}");
        let _ = fs::remove_dir_all(&work);
        fs::remove_dir_all(&out).unwrap();
    }
}

/// A run on `input` that was killed after `read`, in folders `out` and `work`.
#[cfg(unix)]
fn killed() -> (Case, String, String) {
    let case = Case::new(120, "jsonl", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    while !case.kill_after("read", &out, &work, &[]) {
        let _ = fs::remove_dir_all(&work);
        let _ = fs::remove_dir_all(&out);
    }
    (case, out, work)
}

#[test]
#[cfg(unix)]
fn another_run_is_refused() {
    let (case, out, work) = killed();
    let resume = |extra: &[&str]| {
        let arguments = case.arguments(&out, &work, &[&["--resume"], extra].concat());
        common::twinfold(&arguments)
    };
    let before = files(Path::new(&work));
    resume(&["--threshold", "0.8"]).fault_with(&["is of another run", "threshold was \"0.7\""]);
    resume(&["--edges", "spanning"]).fault_with(&["edges was \"auto\""]);
    resume(&[&case.bench.write("more.jsonl", "")])
        .fault_with(&["it had 1 input files, and there are 2 now"]);
    let text = fs::read(&case.input).unwrap();
    // As many bytes, and others.
    let mut other = text.clone();
    let at = other.iter().rposition(|&byte| byte == b'a').unwrap();
    other[at] = b'b';
    fs::write(&case.input, &other).unwrap();
    resume(&[]).fault_with(&["has been changed since"]);
    fs::write(&case.input, [&text[..], b"\n"].concat()).unwrap();
    resume(&[]).fault_with(&["bytes, and has"]);
    let state = |mut files: BTreeMap<String, Vec<u8>>| {
        files.remove(".twinfold-lock");
        files
    };
    assert_same(&state(files(Path::new(&work))), &state(before), "refused");
    // What decides nothing may be another, and a file may have been written anew with the same bytes.
    fs::write(&case.input, &text).unwrap();
    resume(&["--threads", "1", "--memory", "1GB"]).success();
    assert_same(
        &relations(Path::new(&out)),
        &case.whole,
        "with other threads",
    );
}

#[test]
#[cfg(unix)]
fn damage_is_seen() {
    let (case, out, work) = killed();
    let resume = || common::twinfold(&case.arguments(&out, &work, &["--resume"]));
    for (name, bytes) in files(Path::new(&work)) {
        if !name.ends_with(".bin") && !name.ends_with(".state") || bytes.is_empty() {
            continue;
        }
        let path = Path::new(&work).join(&name);
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(&path, &damaged).unwrap();
        resume().fault_with(&[&name, "its checksum is another", "remove the work folder"]);
        fs::write(&path, &bytes[1..]).unwrap();
        resume().fault_with(&[&name, "bytes, where"]);
        fs::remove_file(&path).unwrap();
        resume().fault_with(&[&name, "is damaged"]);
        fs::write(&path, &bytes).unwrap();
    }
    resume().success();
    assert_same(&relations(Path::new(&out)), &case.whole, "mended");
}

#[test]
fn the_work_folder_is_ours_alone() {
    let case = Case::new(2, "csv", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    let note = case.bench.write("work/note.txt", "mine");
    let arguments = case.arguments(&out, &work, &[]);
    common::twinfold(&arguments).fault_with(&["is not empty: it holds note.txt", "hint: "]);
    assert_eq!(fs::read_to_string(&note).unwrap(), "mine");
    assert_eq!(files(Path::new(&work)).len(), 1);
    fs::remove_file(&note).unwrap();
    common::twinfold(&arguments).success();
    assert!(!Path::new(&work).exists());

    let arguments = case.arguments(&out, &out, &["--overwrite"]);
    common::twinfold(&arguments).fault_with(&["the work folder is the output folder"]);
    assert_same(&relations(Path::new(&out)), &case.whole, "left alone");
}

#[test]
fn settings_that_say_nothing() {
    let case = Case::new(2, "csv", &[]);
    let out = case.bench.name("out");
    let run =
        |extra: &[&str]| common::twinfold(&[&["run", &case.input, "--out", &out], extra].concat());
    run(&["--resume"]).fault_with(&["--resume needs the folder", "--work-dir"]);
    run(&["--memory", "lots"]).fault_with(&["\"lots\" is no amount of memory", "2GB"]);
    run(&["--memory", "0%"]).fault_with(&["no amount of memory"]);
    run(&["--memory", "10MB"]).fault_with(&["less than a run can do with", "--memory 256MiB"]);
    // A stage that is not there is no fault.
    let work = case.bench.name("work");
    run(&["--work-dir", &work, "--resume", "--quiet"]).success();
    assert!(!Path::new(&work).exists());
}

#[test]
#[cfg(unix)]
fn interrupted_it_names_the_folder() {
    let case = Case::new(120, "jsonl", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    let mut named = 0;
    for round in 0..30u64 {
        let mut child = command(&case.arguments(&out, &work, &[])).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 10));
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        child.wait().unwrap();
        let run = ended(child);
        let said = run.stderr();
        match stage(Path::new(&work)) {
            Some(stage) => {
                assert!(said.contains(&format!("up to its stage {stage}")), "{said}");
                assert!(said.contains("--resume"), "{said}");
                assert!(!Path::new(&out).exists());
                named += 1;
                let again = [&case.arguments(&out, &work, &[])[..], &["--resume"]].concat();
                common::twinfold(&again).success();
                assert_same(&relations(Path::new(&out)), &case.whole, "resumed");
            }
            None => assert!(!Path::new(&work).exists(), "{said}"),
        }
        let _ = fs::remove_dir_all(&out);
    }
    assert!(named > 0);
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_told() {
    let case = Case::new(120, "jsonl", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    let program = env!("CARGO_BIN_EXE_twinfold");
    // No file may be longer than so many half kilobytes, which is as near to a full disk as a test
    // comes without a disk of its own.
    for (blocks, folder) in [(8, Some(&work)), (64, Some(&work)), (8, None)] {
        let mut arguments = case.arguments(&out, &work, &[]);
        if folder.is_none() {
            arguments.retain(|argument| *argument != "--work-dir" && *argument != work);
        }
        let run = Command::new("sh")
            .args([
                "-c",
                &format!("ulimit -f {blocks}; exec \"$0\" \"$@\""),
                program,
            ])
            .args(&arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: cannot write "), "{said}");
        assert!(said.contains("hint: "), "{said}");
        assert!(!Path::new(&out).exists(), "{said}");
        if let Some(stage) = stage(Path::new(&work)) {
            assert!(said.contains(&format!("up to its stage {stage}")), "{said}");
            let again = [&case.arguments(&out, &work, &[])[..], &["--resume"]].concat();
            common::twinfold(&again).success();
            assert_same(&relations(Path::new(&out)), &case.whole, "resumed");
            fs::remove_dir_all(&out).unwrap();
        }
        assert!(!Path::new(&work).exists(), "{said}");
    }
}

#[test]
fn a_document_that_is_too_long_for_the_bound_is_named() {
    let bench = Bench::new();
    let long = "word ".repeat(6 << 20);
    let records = common::texts::records(&[("1", "short".into()), ("2", long)]);
    let inputs = ["csv", "jsonl", "parquet"].map(|format| {
        let bytes = encode(format, &records);
        bench.write(&format!("in.{format}"), bytes)
    });
    for (number, input) in inputs.iter().enumerate() {
        let out = format!("out{number}");
        let place = ["line 3", "line 2", "row 2"][number];
        let run = bench.run(&[input], &out, &["--memory", "256MiB", "--threads", "1"]);
        run.fault_with(&[
            input.as_str(),
            place,
            "ten times as much memory",
            "allow more than --memory",
        ]);
        assert!(!bench.path(&out).exists());
        let extra = ["--memory", "1GB", "--quiet"];
        bench.run(&[input], &out, &extra).success();
    }
}

#[test]
#[cfg(unix)]
fn killed_once_its_results_are_in_place() {
    let case = Case::new(120, "jsonl", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    let arguments = case.arguments(&out, &work, &[]);
    let mut seen = 0;
    for _ in 0..20 {
        let mut child = command(&arguments).spawn().unwrap();
        while !Path::new(&out).join("manifest.json").exists() && child.try_wait().unwrap().is_none()
        {
            std::hint::spin_loop();
        }
        let _ = child.kill();
        ended(child);
        if Path::new(&work).exists() {
            seen += 1;
            let again = [&arguments[..], &["--resume"]].concat();
            common::twinfold(&again).success();
        }
        assert_same(&relations(Path::new(&out)), &case.whole, "complete");
        assert!(!Path::new(&work).exists());
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(seen > 0);
}

#[test]
#[cfg(unix)]
fn standard_input_cannot_be_resumed_and_keeps_nothing() {
    let case = Case::new(120, "jsonl", &[]);
    let (out, work) = (case.bench.name("out"), case.bench.name("work"));
    let arguments = ["run", "-", "--out", &out, "--work-dir", &work, "--quiet"];
    let text = fs::read(&case.input).unwrap();
    let all = [&arguments[..], &["--publish", "all"]].concat();
    common::twinfold_with_input(&all, &text).success();
    assert_same(&relations(Path::new(&out)), &case.whole, "standard input");
    assert!(!Path::new(&work).exists());
    fs::remove_dir_all(&out).unwrap();
    let resume = [&arguments[..], &["--resume"]].concat();
    common::twinfold_with_input(&resume, &text).fault_with(&["standard input is gone"]);
    assert!(!Path::new(&work).exists());
}

#[test]
#[cfg(unix)]
fn two_signals_at_once_are_one() {
    let case = Case::new(120, "jsonl", &[]);
    for round in 0..20u64 {
        let (out, work) = (case.bench.name("out"), case.bench.name("work"));
        let child = command(&case.arguments(&out, &work, &[])).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + round * 10));
        let id = child.id().to_string();
        Command::new("sh")
            .args(["-c", &format!("kill -TERM {id}; kill -TERM {id}")])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        let run = ended(child);
        let said = run.stderr();
        if run.code() != Some(0) {
            assert_eq!(run.code(), Some(143), "{said}");
            assert!(said.starts_with("interrupted: "), "{said:?}");
            assert!(
                !files(Path::new(&out))
                    .keys()
                    .any(|name| name.starts_with('.'))
            );
        }
        let _ = fs::remove_dir_all(&work);
        let _ = fs::remove_dir_all(&out);
    }
}

#[test]
#[cfg(unix)]
fn a_lost_record_is_told() {
    let (case, out, work) = killed();
    fs::remove_file(Path::new(&work).join("work.json")).unwrap();
    common::twinfold(&case.arguments(&out, &work, &["--resume"])).fault_with(&[
        "work.json",
        "missing, or cannot be read",
        "remove the work folder",
    ]);
}

#[test]
fn names_that_take_too_much_are_told() {
    let bench = Bench::new();
    let lines: String = (0..3000)
        .map(|number| {
            let title = format!("{number} ").repeat(14_000);
            format!("{{\"id\":{number},\"title\":\"{title}\",\"text\":\"text {number}\"}}\n")
        })
        .collect();
    let input = bench.write("in.jsonl", lines);
    bench
        .run(&[&input], "out", &["--memory", "256MiB"])
        .fault_with(&["ids, titles", "there is room for", "allow more --memory"]);
    let extra = ["--memory", "2GB", "--quiet"];
    bench.run(&[&input], "out", &extra).success();
}
