//! Folders as people have them: links of all kinds, outputs of earlier runs, pipes, and files that
//! may not be read.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use source_helpers::*;
use twinfold_io::source::{Input, SourceError, SourceOptions, Table};

/// A file of one document, whose id is the name without what follows the first dot.
fn file(root: &Path, name: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let (stem, ending) = name.split_once('.').unwrap();
    let id = stem.rsplit('/').next().unwrap();
    fs::write(path, bytes(ending, &[doc(id, None, "some text")])).unwrap();
}

/// What `publish` leaves, as far as it matters here.
fn earlier_output(root: &Path, name: &str) {
    for part in [
        "deduped_documents.parquet",
        "removed_documents.parquet",
        "clusters.csv",
    ] {
        file(root, &format!("{name}/{part}"));
    }
    let manifest = r#"{"program": "twinfold 0.1.0", "outputs": []}"#;
    fs::write(root.join(name).join("manifest.json"), manifest).unwrap();
}

fn input(root: &Path, names: &[&str], output: Option<&str>) -> SourceOptions {
    let path = |name: &&str| root.join(name).to_str().unwrap().to_owned();
    SourceOptions {
        inputs: names.iter().map(path).collect(),
        output: output.map(|name| root.join(name)),
        ..Default::default()
    }
}

/// The files that are read and the notes, with names from `root`.
fn listed(root: &Path, names: &[&str], output: Option<&str>) -> (Vec<String>, Vec<String>) {
    let table = read_with(input(root, names, output), 2)
        .unwrap_or_else(|error| panic!("{error}"))
        .0;
    let prefix = format!("{}/", root.display());
    let short = |text: &str| text.replace(&prefix, "");
    let files = |table: &Table| table.file_hashes().iter().map(|f| short(&f.name)).collect();
    (
        files(&table),
        table.notes().iter().map(|n| short(n)).collect(),
    )
}

fn error(root: &Path, names: &[&str]) -> SourceError {
    let error = Input::open(input(root, names, None)).unwrap_err();
    assert!(!error.to_string().contains('\n'));
    error
}

#[test]
fn a_file_with_many_names_is_read_once() {
    for reversed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        file(root, "in/m.csv");
        file(root, "in/sub/n.csv");
        file(root, "elsewhere/o.csv");
        type Step<'a> = Box<dyn Fn() + 'a>;
        let link = |to: &'static str, name: &'static str| -> Step<'_> {
            Box::new(move || symlink(root.join(to), root.join("in").join(name)).unwrap())
        };
        let mut steps: Vec<Step<'_>> = vec![
            link("in/m.csv", "a_link.csv"),
            link("in/sub", "a_folder"),
            link("in", "sub/loop"),
            link("", "sub/above"),
            link("elsewhere", "far"),
            link("elsewhere/o.csv", "z.csv"),
            link("in/sub/self", "sub/self"),
            Box::new(|| fs::hard_link(root.join("in/m.csv"), root.join("in/l.csv")).unwrap()),
        ];
        if reversed {
            steps.reverse();
        }
        steps.iter().for_each(|step| step());
        let (files, notes) = listed(root, &["in"], None);
        // Of a real name and a link the real one stays; of two real names the first.
        assert_eq!(files, ["in/far/o.csv", "in/l.csv", "in/sub/n.csv"]);
        assert_eq!(
            notes,
            [
                "skipped in/a_folder: it is the same folder as in/sub",
                "skipped in/m.csv: it is the same file as in/l.csv",
                "skipped in/a_link.csv: it is the same file as in/l.csv",
                "skipped in/z.csv: it is the same file as in/far/o.csv",
                "skipped in/sub/above: the link leads back to a folder that it is in",
                "skipped in/sub/loop: the link leads back to a folder that it is in",
                "skipped in/sub/self: a link to nothing",
            ]
        );
        // The same through patterns, and by several inputs.
        let (files, notes) = listed(root, &["in/*.csv"], None);
        assert_eq!((files.len(), notes.len()), (2, 2), "{files:?} {notes:?}");
        let (files, notes) = listed(root, &["in/**"], None);
        assert_eq!(
            files,
            ["in/far/o.csv", "in/l.csv", "in/sub/n.csv"],
            "{notes:?}"
        );
        let (files, notes) = listed(root, &["in/sub", "in/m.csv", "in/m.csv", "in", "in"], None);
        assert_eq!(
            files,
            ["in/sub/n.csv", "in/m.csv", "in/far/o.csv"],
            "{notes:?}"
        );
        assert!(notes.contains(&"in/m.csv is named twice, and read once".into()));
    }
}

#[test]
fn notes_of_one_kind_do_not_fill_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "in/a.csv");
    for i in 0..30 {
        let link = folder.path().join(format!("in/b{i:02}.csv"));
        fs::hard_link(folder.path().join("in/a.csv"), link).unwrap();
    }
    let (files, notes) = listed(folder.path(), &["in"], None);
    assert_eq!((files.len(), notes.len()), (1, 6));
    assert_eq!(
        notes[0],
        "skipped in/b00.csv: it is the same file as in/a.csv"
    );
    assert_eq!(
        notes[5],
        "25 more files and folders have two names, too, and are read once"
    );
}

#[test]
fn a_link_to_a_file_that_is_gone_is_an_error() {
    for name in ["in/gone.csv", "in/sub/gone.parquet", "in/gone.jsonl.gz"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        file(root, "in/a.csv");
        file(root, "in/sub/b.csv");
        symlink("/no/where", root.join(name)).unwrap();
        for inputs in [&["in"][..], &["in/**"], &[name], &["in/a.csv", "i*"]] {
            let error = error(root, inputs);
            assert!(matches!(&error, SourceError::DeadLink { .. }), "{error}");
            assert!(error.to_string().contains(name) && error.to_string().contains("/no/where"));
            assert!(error.hint().unwrap().contains("remove the link"));
        }
        // One that would not have been read is in nobody's way.
        fs::rename(root.join(name), root.join("in/.#gone.csv")).unwrap();
        assert_eq!(listed(root, &["in"], None).1, [""; 0]);
        fs::rename(root.join("in/.#gone.csv"), root.join("in/gone")).unwrap();
        assert_eq!(
            listed(root, &["in"], None).1,
            ["skipped in/gone: a link to nothing"]
        );
        assert!(matches!(
            error(root, &["in/gone"]),
            SourceError::DeadLink { .. }
        ));
    }
}

#[test]
fn pipes_and_sockets_in_a_folder_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    file(root, "in/a.csv");
    let pipe = root.join("in/pipe.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("in/socket.csv")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(root.join("in/socket")).unwrap();
    symlink(&pipe, root.join("in/link.parquet")).unwrap();
    for pattern in ["in", "in/*"] {
        let (files, mut notes) = listed(root, &[pattern], None);
        notes.sort();
        assert_eq!(files, ["in/a.csv"]);
        assert_eq!(notes.len(), 3, "{notes:?}");
        for (note, name) in notes
            .iter()
            .zip(["link.parquet", "pipe.jsonl", "socket.csv"])
        {
            assert!(
                note.contains(name) && note.contains("name it by itself"),
                "{note}"
            );
        }
    }
}

#[test]
fn outputs_of_earlier_runs_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    file(root, "in/a.csv");
    file(root, "in/kept/b.csv");
    earlier_output(root, "in/out");
    // One that is being written, and one whose commit was cut short.
    file(root, "in/unfinished/clusters.csv");
    file(
        root,
        "in/unfinished/.twinfold-staging/deduped_documents.parquet",
    );
    // A manifest of another program, and no manifest at all.
    let other = r#"{"doc_id": "m", "body": "text", "program": "twin 1"}"#;
    fs::write(root.join("in/kept/manifest.json"), other).unwrap();
    let skipped = |name: &str| {
        format!(
            "skipped {name}: the output of an earlier run; name its deduped_documents.parquet to read it"
        )
    };
    let unfinished = "skipped in/unfinished: a run writes to it, or was cut short; let it end, or remove what it left";
    for pattern in ["in", "in/**", "in/*", "i*", "in/**/*.*"] {
        let (files, mut notes) = listed(root, &[pattern], None);
        notes.sort();
        assert_eq!(
            files,
            ["in/a.csv", "in/kept/b.csv", "in/kept/manifest.json"],
            "{pattern}"
        );
        assert_eq!(notes, [skipped("in/out"), unfinished.into()], "{pattern}");
    }
    // A folder of nothing else says why nothing is read.
    let error = error(root, &["in/out/*.parquet"]);
    assert!(matches!(error, SourceError::NoFiles { .. }));
    assert!(
        error
            .hint()
            .unwrap()
            .ends_with("name its deduped_documents.parquet to read it")
    );
    // A name that is written out is meant.
    for name in ["in/out/clusters.csv", "in/o*/clusters.csv"] {
        assert_eq!(listed(root, &[name], None).0[0], "in/out/clusters.csv");
    }
    // The folder by its name is the documents that were kept, whatever the format of the others.
    for format in [None, Some(twinfold_io::source::Format::Csv)] {
        let mut options = input(root, &["in/out", "in/a.csv"], None);
        options.format = format;
        let table = read_with(options, 2).unwrap().0;
        assert_eq!((table.len(), table.id(1)), (2, "deduped_documents"));
        assert_eq!(table.notes().len(), 1);
        assert!(table.notes()[0].ends_with("its deduped_documents.parquet is read"));
    }
    fs::remove_file(root.join("in/out/deduped_documents.parquet")).unwrap();
    let error = Input::open(input(root, &["in/out"], None)).unwrap_err();
    assert!(
        matches!(error, SourceError::NoDedupedDocuments { .. }),
        "{error}"
    );
    // A folder that the user names is read even if a run was cut short in it.
    assert_eq!(
        listed(root, &["in/unfinished"], None).0,
        ["in/unfinished/clusters.csv"]
    );
}

#[test]
fn the_output_folder_is_never_read_from_above() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    file(root, "in/a.csv");
    file(root, "in/out/b.csv");
    symlink(root.join("in/out"), root.join("in/link")).unwrap();
    for (pattern, by) in [
        ("in", "in/out"),
        ("in/**", "in/out"),
        ("in/*/*.csv", "in/link"),
    ] {
        for output in ["in/out", "in/link", "in/./out/"] {
            let read = read_with(input(root, &[pattern, "in/a.csv"], Some(output)), 2);
            if pattern == "in/*/*.csv" {
                assert!(matches!(read, Err(SourceError::NoFiles { .. })));
                continue;
            }
            let notes = read.unwrap().0.notes();
            assert!(
                notes
                    .iter()
                    .any(|n| n.ends_with(&format!("{by}: this run writes to it"))),
                "{notes:?}"
            );
            assert_eq!(listed(root, &[pattern], Some(output)).0, ["in/a.csv"]);
        }
    }
    // One that is not there, is empty, or is named as an input.
    for output in ["in/new", "in/sub/new"] {
        assert_eq!(listed(root, &["in"], Some(output)).0.len(), 2);
    }
    fs::create_dir(root.join("in/empty")).unwrap();
    let (_, notes) = listed(root, &["in"], Some("in/empty"));
    assert!(
        !notes.iter().any(|note| note.contains("empty")),
        "{notes:?}"
    );
    assert_eq!(
        listed(root, &["in/out"], Some("in/out")).0,
        ["in/out/b.csv"]
    );
    assert_eq!(
        listed(root, &["in/out/*.csv"], Some("in/out")).0,
        ["in/out/b.csv"]
    );
}

#[test]
fn what_may_not_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in [
        "in/a.csv",
        "in/b.csv",
        "in/c.parquet",
        "in/d.jsonl.gz",
        "in/sub/e.csv",
    ] {
        file(root, name);
    }
    let closed = ["in/b.csv", "in/c.parquet", "in/d.jsonl.gz", "in/sub"];
    let mode = |mode| {
        for name in closed {
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    mode(0);
    if fs::read(root.join("in/b.csv")).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    for inputs in [&["in"][..], &["in/*"], &closed] {
        let error = error(root, inputs);
        let said = error.to_string();
        assert!(closed.iter().all(|name| said.contains(name)), "{said}");
        assert!(said.contains("no permission to read it"), "{said}");
        assert!(error.hint().unwrap().contains("permissions"));
    }
    mode(0o755);
}
