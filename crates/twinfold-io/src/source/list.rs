//! From what the user named to the list of files: folders walked, patterns expanded, nothing twice.
//!
//! Guarantee: the list depends on the names alone, never on the order in which the system lists a
//! folder. Inside a folder or a pattern are skipped
//! * without a word: hidden files, names that begin with `_` (`_SUCCESS`, `_delta_log`), and what has
//!   no known ending;
//! * with a note: the outputs of earlier runs, the folder that this run writes to, links that lead
//!   back to where they are, and pipes, sockets and devices.
//!
//! A file named by itself never is. One that has several names, by links or by being named again, is
//! read once, by a name without a link if it has one. What can't be read, and a link to a file that is
//! gone, is an error: a run must not look whole when a part of its input is missing.
//! Cost: each file is opened once, for its first bytes.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::compress::{self, Compression};
use super::dialect::{Delimiter, Dialect};
use super::notes::{About, Notes};
use super::{Format, InputFile, SourceError};
use crate::marks::{DEDUPED_DOCUMENTS, MANIFEST, STAGING, is_manifest};

/// The name under which standard input appears.
pub(super) const STDIN: &str = "-";

/// How patterns match: a hidden file has to be meant.
const MATCHING: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: false,
    require_literal_leading_dot: true,
};

/// What was found.
pub(super) struct Listed {
    pub(super) files: Vec<InputFile>,
    pub(super) notes: Notes,
}

/// Expands the inputs, each in the order given and sorted by path within. `output` is the folder that
/// the run will write to.
pub(super) fn expand(
    inputs: &[String],
    format: Option<Format>,
    output: Option<&Path>,
) -> Result<Listed, SourceError> {
    if inputs.is_empty() {
        return Err(SourceError::NoInputs);
    }
    let mut finder = Finder {
        format,
        // One that isn't there yet is in nobody's way.
        output: output.and_then(|output| fs::canonicalize(output).ok()),
        ..Finder::default()
    };
    for input in inputs {
        finder.input(input)?;
    }
    finder.finish()
}

#[derive(Default)]
struct Finder {
    format: Option<Format>,
    /// The folder that the run writes to.
    output: Option<PathBuf>,
    files: Vec<InputFile>,
    notes: Notes,
    /// Every file that was found, with the name under which it came first.
    seen: HashMap<Identity, String>,
    /// Every folder that was walked, by its real path, with the name under which it came first.
    walked: HashMap<PathBuf, PathBuf>,
    /// What can't be read, and why.
    unreadable: Vec<(String, io::Error)>,
    /// What the files of the walk at hand have to match.
    filter: Option<glob::Pattern>,
}

/// A file to be read, and whether it was come by through a link.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    linked: bool,
    path: PathBuf,
}

/// Why a folder is not read.
enum Skip {
    /// This run writes to it.
    Own(String),
    /// Another run does, or did.
    Other(String),
}

/// A folder to be walked.
struct Folder {
    path: PathBuf,
    linked: bool,
    /// Whether the user named it, and not one above it.
    named: bool,
    /// Whether the outputs of earlier runs in it are meant, too.
    outputs: bool,
    /// The real folders from which links led here.
    above: Vec<PathBuf>,
}

impl Folder {
    fn named(path: &Path) -> Self {
        Self {
            path: path.into(),
            linked: false,
            named: true,
            outputs: false,
            above: Vec::new(),
        }
    }
}

impl Finder {
    /// Finds the files that one input stands for.
    fn input(&mut self, input: &str) -> Result<(), SourceError> {
        if input == STDIN {
            return self.standard_input();
        }
        let path = Path::new(input);
        let mut found = Vec::new();
        let mut notes = Notes::default();
        // A path that exists is taken as it is, even with a `[` in its name.
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() && is_manifest(&path.join(MANIFEST)) => {
                return self.earlier_output(path);
            }
            Ok(meta) if meta.is_dir() => {
                if let Some(first) = self.walked_before(path) {
                    let text = format!("{input} was read already, as {}", first.display());
                    self.notes.push(About::Twice, &text);
                    return Ok(());
                }
                self.walk(Folder::named(path), &mut found, &mut notes)?;
            }
            Ok(_) => {
                found.push(Found {
                    linked: false,
                    path: path.into(),
                });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.unreadable.push((input.into(), error));
                return Ok(());
            }
            Err(_) if path.is_symlink() => return Err(dead_link(path)),
            Err(_) => self.pattern(input, &mut found, &mut notes)?,
        }
        if found.is_empty() && self.unreadable.is_empty() {
            return Err(SourceError::NoFiles {
                path: input.into(),
                skipped: notes.first().map(String::from),
            });
        }
        self.notes.extend(notes);
        self.add(found, self.format)
    }

    fn standard_input(&mut self) -> Result<(), SourceError> {
        let format = self.format.unwrap_or(Format::JsonLines);
        if format == Format::Parquet {
            return Err(SourceError::ParquetStream { path: STDIN.into() });
        }
        if self.files.iter().any(|file| file.path.is_none()) {
            self.notes
                .push(About::Twice, "standard input is named twice, and read once");
            return Ok(());
        }
        self.files.push(InputFile {
            path: None,
            name: STDIN.into(),
            format,
            compression: Compression::None,
            bytes: 0,
            dialect: Dialect::new(Delimiter::COMMA),
            regular: false,
        });
        Ok(())
    }

    /// The folder of an earlier run stands for the documents that it kept, whatever `--format` says
    /// of the other inputs.
    fn earlier_output(&mut self, folder: &Path) -> Result<(), SourceError> {
        let path = folder.join(DEDUPED_DOCUMENTS);
        let name = folder.to_string_lossy();
        if !path.exists() {
            return Err(SourceError::NoDedupedDocuments { path: name.into() });
        }
        self.notes.push(
            About::Output,
            &format!("{name} is the output of an earlier run: its {DEDUPED_DOCUMENTS} is read"),
        );
        let found = Found {
            linked: false,
            path,
        };
        self.add(vec![found], Some(Format::Parquet))
    }

    /// Describes what was found, each file once.
    fn add(&mut self, mut found: Vec<Found>, format: Option<Format>) -> Result<(), SourceError> {
        // Links come last, so that of several names the real one stays.
        found.sort();
        found.dedup();
        let first = self.files.len();
        for Found { path, .. } in found {
            let name = path.to_string_lossy().into_owned();
            let described = fs::metadata(&path).and_then(|meta| {
                let identity = identity(&path, &meta)?;
                Ok((meta, identity))
            });
            let (meta, identity) = match described {
                Ok(described) => described,
                Err(error) => {
                    self.unreadable.push((name, error));
                    continue;
                }
            };
            if let Some(first) = self.seen.get(&identity) {
                let text = if *first == name {
                    format!("{name} is named twice, and read once")
                } else {
                    format!("skipped {name}: it is the same file as {first}")
                };
                self.notes.push(About::Twice, &text);
                continue;
            }
            self.seen.insert(identity, name.clone());
            let unreadable = |error| (name.clone(), error);
            match describe(path, name.clone(), &meta, format)? {
                Ok(file) => self.files.push(file),
                Err(error) => self.unreadable.push(unreadable(error)),
            }
        }
        self.files[first..].sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    fn finish(mut self) -> Result<Listed, SourceError> {
        if self.unreadable.is_empty() {
            return Ok(Listed {
                files: self.files,
                notes: self.notes,
            });
        }
        let (path, source) = self.unreadable.remove(0);
        Err(SourceError::Unreadable {
            path,
            source,
            others: self.unreadable.into_iter().map(|(path, _)| path).collect(),
        })
    }

    /// The files and folders that a pattern matches.
    fn pattern(
        &mut self,
        input: &str,
        found: &mut Vec<Found>,
        notes: &mut Notes,
    ) -> Result<(), SourceError> {
        const WILD: [char; 3] = ['*', '?', '['];
        if !input.contains(WILD) {
            return Err(SourceError::NotFound { path: input.into() });
        }
        let matches = glob::glob_with(input, MATCHING).map_err(|source| SourceError::Pattern {
            pattern: input.into(),
            source,
        })?;
        // A file of an output folder is meant only where its name is written out.
        let exact = Path::new(input)
            .file_name()
            .is_some_and(|name| !name.to_string_lossy().contains(WILD));
        // Folders that are named, as the part before the first wildcard is, need no look above them.
        let base = without_dots(Path::new(input))
            .components()
            .take_while(|part| !part.as_os_str().to_string_lossy().contains(WILD))
            .collect::<PathBuf>();
        if Path::new(input)
            .components()
            .any(|part| part.as_os_str() == "**")
        {
            return self.recursive(input, &base, exact, found, notes);
        }
        let (mut any, mut skipped) = (false, BTreeMap::new());
        for entry in matches {
            any = true;
            let path = match entry {
                Ok(path) => path,
                Err(error) => {
                    let path = error.path().to_string_lossy().into_owned();
                    self.unreadable.push((path, error.into()));
                    continue;
                }
            };
            if hidden(&path) {
                continue;
            }
            let linked = path.is_symlink();
            if path.is_dir() {
                let folder = Folder {
                    path,
                    linked,
                    named: false,
                    outputs: false,
                    above: Vec::new(),
                };
                self.walk(folder, found, notes)?;
                continue;
            }
            if ending(&path).is_none() {
                continue;
            }
            let mut inside = without_dots(&path);
            let mut skip = false;
            while !skip && inside.pop() && inside.starts_with(&base) {
                let reason = skipped
                    .entry(inside.clone())
                    .or_insert_with(|| self.why_skipped(&inside, inside == base));
                skip = match reason {
                    Some(Skip::Own(_)) => true,
                    Some(Skip::Other(_)) => !exact,
                    None => false,
                };
            }
            if !skip {
                self.file(path, linked, found, notes)?;
            }
        }
        if !any {
            return Err(SourceError::NotFound { path: input.into() });
        }
        for reason in skipped.into_values().flatten() {
            match reason {
                Skip::Other(_) if exact => {}
                Skip::Own(text) | Skip::Other(text) => notes.push_once(About::Output, &text),
            }
        }
        Ok(())
    }

    /// The files that a pattern with `**` matches. The folders above the `**` are walked as others
    /// are: left to itself the pattern would follow a link that leads back for ever.
    fn recursive(
        &mut self,
        input: &str,
        base: &Path,
        exact: bool,
        found: &mut Vec<Found>,
        notes: &mut Notes,
    ) -> Result<(), SourceError> {
        let error = |source| SourceError::Pattern {
            pattern: input.into(),
            source,
        };
        let whole = without_dots(Path::new(input));
        let above: PathBuf = whole
            .components()
            .take_while(|part| part.as_os_str() != "**")
            .collect();
        let mut folders = Vec::new();
        if above == *base {
            folders.push(base.to_path_buf());
        } else {
            let matches = glob::glob_with(&above.to_string_lossy(), MATCHING).map_err(error)?;
            folders.extend(matches.flatten().filter(|path| !hidden(path)));
        }
        self.filter = Some(glob::Pattern::new(&whole.to_string_lossy()).map_err(error)?);
        // Another input may want other files of the same folders.
        let walked = std::mem::take(&mut self.walked);
        for path in folders {
            let here = path.as_os_str().is_empty();
            let path = if here { PathBuf::from(".") } else { path };
            if !path.is_dir() {
                continue;
            }
            let folder = Folder {
                linked: path.is_symlink(),
                named: path == *base || here,
                outputs: exact,
                path,
                above: Vec::new(),
            };
            self.walk(folder, found, notes)?;
        }
        self.walked = walked;
        self.filter = None;
        for found in found.iter_mut() {
            found.path = without_dots(&found.path);
        }
        if found.is_empty() && notes.first().is_none() && self.unreadable.is_empty() {
            return Err(SourceError::NotFound { path: input.into() });
        }
        Ok(())
    }

    /// Whether a file that was come by has a known ending, and matches the pattern or is in a folder
    /// that does.
    fn wanted(&self, path: &Path) -> bool {
        let options = glob::MatchOptions {
            require_literal_separator: true,
            ..MATCHING
        };
        let matches = |pattern: &glob::Pattern| {
            without_dots(path)
                .ancestors()
                .any(|path| pattern.matches_path_with(path, options))
        };
        ending(path).is_some() && self.filter.as_ref().is_none_or(matches)
    }

    /// Why a folder is not read, as a note. One that was `named` is, unless a run has filled it.
    fn why_skipped(&self, folder: &Path, named: bool) -> Option<Skip> {
        let name = folder.display();
        let own = || {
            let real = fs::canonicalize(folder).ok();
            // One that was made and not yet filled hides nothing.
            self.output.is_some()
                && self.output == real
                && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
        };
        if !named && own() {
            return Some(Skip::Own(format!("skipped {name}: this run writes to it")));
        }
        if is_manifest(&folder.join(MANIFEST)) {
            return Some(Skip::Other(format!(
                "skipped {name}: the output of an earlier run; name its {DEDUPED_DOCUMENTS} to read it"
            )));
        }
        if !named && folder.join(STAGING).is_dir() {
            return Some(Skip::Other(format!(
                "skipped {name}: a run writes to it, or was cut short; let it end, or remove what it left"
            )));
        }
        None
    }

    /// Whether a folder was walked, and as what.
    fn walked_before(&self, folder: &Path) -> Option<&PathBuf> {
        self.walked.get(&fs::canonicalize(folder).ok()?)
    }

    /// Collects the files below a folder. Links wait until all that is reached without them is known,
    /// and then go in the order of their paths, so that it is always the same name that comes first.
    fn walk(
        &mut self,
        folder: Folder,
        found: &mut Vec<Found>,
        notes: &mut Notes,
    ) -> Result<(), SourceError> {
        let outputs = folder.outputs;
        let mut folders = vec![folder];
        let mut links: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        loop {
            while let Some(folder) = folders.pop() {
                let name = folder.path.to_string_lossy().into_owned();
                if let Err(error) = self.list(folder, &mut folders, &mut links, found, notes) {
                    self.unreadable.push((name, error));
                }
            }
            let Some((path, above)) = links.pop_first() else {
                return Ok(());
            };
            if !path.is_dir() {
                if self.wanted(&path) {
                    self.file(path, true, found, notes)?;
                } else if !path.exists() {
                    let text = format!("skipped {}: a link to nothing", path.display());
                    notes.push(About::Link, &text);
                }
                continue;
            }
            match fs::canonicalize(&path) {
                Ok(real) if above.iter().any(|folder| folder.starts_with(&real)) => {
                    let text = format!(
                        "skipped {}: the link leads back to a folder that it is in",
                        path.display()
                    );
                    notes.push(About::Link, &text);
                }
                Ok(_) => folders.push(Folder {
                    path,
                    linked: true,
                    named: false,
                    outputs,
                    above,
                }),
                Err(error) => self.unreadable.push((path.to_string_lossy().into(), error)),
            }
        }
    }

    /// Sorts the entries of a folder into files, folders and links.
    fn list(
        &mut self,
        folder: Folder,
        folders: &mut Vec<Folder>,
        links: &mut BTreeMap<PathBuf, Vec<PathBuf>>,
        found: &mut Vec<Found>,
        notes: &mut Notes,
    ) -> io::Result<()> {
        let Folder {
            path,
            linked,
            named,
            outputs,
            above,
        } = folder;
        let real = fs::canonicalize(&path)?;
        if let Some(first) = self.walked.get(&real) {
            if *first != path {
                let text = format!(
                    "skipped {}: it is the same folder as {}",
                    path.display(),
                    first.display()
                );
                notes.push(About::Twice, &text);
            }
            return Ok(());
        }
        match self.why_skipped(&path, named) {
            Some(Skip::Other(_)) if outputs => {}
            Some(Skip::Own(text) | Skip::Other(text)) => {
                notes.push_once(About::Output, &text);
                return Ok(());
            }
            None => {}
        }
        self.walked.insert(real.clone(), path.clone());
        // In the order of their names, so that the notes always stand in the same order.
        let mut entries = fs::read_dir(&path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let first = folders.len();
        for entry in entries {
            let path = entry.path();
            if hidden(&path) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                let mut above = above.clone();
                above.push(real.clone());
                links.insert(path, above);
            } else if kind.is_dir() {
                folders.push(Folder {
                    path,
                    linked,
                    named: false,
                    outputs,
                    above: above.clone(),
                });
            } else if self.wanted(&path) {
                if kind.is_file() {
                    found.push(Found { linked, path });
                } else {
                    special(&path, notes);
                }
            }
        }
        // They are taken from the end.
        folders[first..].reverse();
        Ok(())
    }

    /// Takes in a file with a known ending that may be a link, or be no file.
    fn file(
        &mut self,
        path: PathBuf,
        linked: bool,
        found: &mut Vec<Found>,
        notes: &mut Notes,
    ) -> Result<(), SourceError> {
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => found.push(Found { linked, path }),
            Ok(_) => special(&path, notes),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.unreadable.push((path.to_string_lossy().into(), error));
            }
            Err(_) if path.is_symlink() => return Err(dead_link(&path)),
            Err(error) => self.unreadable.push((path.to_string_lossy().into(), error)),
        }
        Ok(())
    }
}

/// A path without the `.` that some names begin with.
fn without_dots(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != std::path::Component::CurDir)
        .collect()
}

fn special(path: &Path, notes: &mut Notes) {
    let text = format!(
        "skipped {}: a pipe, socket or device; name it by itself to read it",
        path.display()
    );
    notes.push(About::Special, &text);
}

fn dead_link(path: &Path) -> SourceError {
    SourceError::DeadLink {
        path: path.to_string_lossy().into_owned(),
        target: fs::read_link(path)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    }
}

/// What tells whether two names are one file. Some network file systems give two files one number, so
/// size and time have to agree, too.
#[cfg(unix)]
type Identity = (u64, u64, u64, i64, i64);

#[cfg(unix)]
fn identity(_: &Path, meta: &fs::Metadata) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    Ok((
        meta.dev(),
        meta.ino(),
        meta.len(),
        meta.mtime(),
        meta.mtime_nsec(),
    ))
}

#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(not(unix))]
fn identity(path: &Path, _: &fs::Metadata) -> io::Result<Identity> {
    fs::canonicalize(path)
}

fn hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| matches!(name.as_encoded_bytes().first(), Some(b'.' | b'_')))
}

/// Format, delimiter and compression by the ending, if it is a known one.
fn ending(path: &Path) -> Option<(Format, Delimiter, Compression)> {
    let lower = |name: &OsStr| name.to_string_lossy().to_ascii_lowercase();
    let mut path = path.to_path_buf();
    let compression = match lower(path.extension()?).as_str() {
        "gz" => Compression::Gzip,
        "zst" => Compression::Zstd,
        _ => Compression::None,
    };
    if compression != Compression::None {
        path.set_extension("");
    }
    let (format, delimiter) = match lower(path.extension()?).as_str() {
        "csv" => (Format::Csv, Delimiter::COMMA),
        "tsv" => (Format::Csv, Delimiter::TAB),
        "parquet" | "pq" => (Format::Parquet, Delimiter::COMMA),
        "jsonl" | "ndjson" | "json" => (Format::JsonLines, Delimiter::COMMA),
        _ => return None,
    };
    Some((format, delimiter, compression))
}

/// The file, unless it can't be read: the inner error.
fn describe(
    path: PathBuf,
    name: String,
    meta: &fs::Metadata,
    format: Option<Format>,
) -> Result<io::Result<InputFile>, SourceError> {
    let known = ending(&path);
    let format = match (format, known) {
        (Some(format), _) => format,
        (None, Some((format, ..))) => format,
        (None, None) => return Err(SourceError::UnknownFormat { path: name }),
    };
    let by_name = match path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase())
        .as_deref()
    {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstd,
        _ => Compression::None,
    };
    let regular = meta.is_file();
    if format == Format::Parquet {
        if !regular {
            return Err(SourceError::ParquetStream { path: name });
        }
        if by_name != Compression::None {
            return Err(SourceError::ParquetCompressed {
                path: name,
                compression: by_name,
            });
        }
    }
    let mut compression = by_name;
    // Looking into a pipe would swallow its first bytes, so only regular files are asked.
    if regular {
        match compress::sniff(&path) {
            Ok(found) if by_name == Compression::None && format != Format::Parquet => {
                compression = found;
            }
            Ok(_) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(InputFile {
        path: Some(path),
        name,
        format,
        compression,
        bytes: if regular { meta.len() } else { 0 },
        dialect: Dialect::new(known.map_or(Delimiter::COMMA, |(_, delimiter, _)| delimiter)),
        regular,
    }))
}
