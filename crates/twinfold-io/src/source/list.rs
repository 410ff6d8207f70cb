//! From what the user named to the list of files: folders walked, patterns expanded, nothing twice.
//!
//! Guarantee: the list depends on the names alone, never on the order in which the system lists a
//! folder. Hidden files and names that begin with `_` (`_SUCCESS`, `_delta_log`) inside a folder or a
//! pattern are skipped, and so is what has no known ending; a file named by itself never is.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::compress::{self, Compression};
use super::dialect::{Delimiter, Dialect};
use super::{Format, InputFile, SourceError};

/// The name under which standard input appears.
pub(super) const STDIN: &str = "-";

/// Expands the inputs, each in the order given and sorted by path within.
pub(super) fn expand(
    inputs: &[String],
    format: Option<Format>,
) -> Result<Vec<InputFile>, SourceError> {
    if inputs.is_empty() {
        return Err(SourceError::NoInputs);
    }
    let mut files = Vec::new();
    // Canonical path -> the name under which it came first.
    let mut seen: HashMap<PathBuf, String> = HashMap::new();
    for input in inputs {
        if input == STDIN {
            if seen.insert(PathBuf::from(STDIN), STDIN.into()).is_some() {
                return Err(SourceError::NamedTwice {
                    first: STDIN.into(),
                    second: STDIN.into(),
                });
            }
            files.push(stdin(format)?);
            continue;
        }
        for path in paths(input)? {
            let name = path.to_string_lossy().into_owned();
            // A pipe, such as /dev/stdin can be, is there and has no other name.
            let real = fs::canonicalize(&path).or_else(|source| match path.exists() {
                true => Ok(path.clone()),
                false => Err(SourceError::Io {
                    path: name.clone(),
                    source,
                }),
            })?;
            if let Some(first) = seen.insert(real, name.clone()) {
                return Err(SourceError::NamedTwice {
                    first,
                    second: name,
                });
            }
            files.push(describe(path, name, format)?);
        }
    }
    Ok(files)
}

fn stdin(format: Option<Format>) -> Result<InputFile, SourceError> {
    let format = format.unwrap_or(Format::JsonLines);
    if format == Format::Parquet {
        return Err(SourceError::ParquetStream { path: STDIN.into() });
    }
    Ok(InputFile {
        path: None,
        name: STDIN.into(),
        format,
        compression: Compression::None,
        bytes: 0,
        dialect: Dialect::new(Delimiter::COMMA),
        regular: false,
    })
}

/// The files that one input stands for.
fn paths(input: &str) -> Result<Vec<PathBuf>, SourceError> {
    let path = Path::new(input);
    // A path that exists is taken as it is, even with a `[` in its name.
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            let mut found = Vec::new();
            walk(path, &mut Vec::new(), &mut found)?;
            return nonempty(found, input);
        }
        Ok(_) => return Ok(vec![path.to_path_buf()]),
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(SourceError::Io {
                path: input.into(),
                source,
            });
        }
        Err(_) => {}
    }
    if !input.contains(['*', '?', '[']) {
        return Err(SourceError::NotFound { path: input.into() });
    }
    // The default of `MatchOptions` ignores case; `new` does not.
    let options = glob::MatchOptions {
        require_literal_leading_dot: true,
        ..glob::MatchOptions::new()
    };
    let matches = glob::glob_with(input, options).map_err(|source| SourceError::Pattern {
        pattern: input.into(),
        source,
    })?;
    let (mut found, mut any) = (Vec::new(), false);
    for entry in matches {
        let path = entry.map_err(|error| SourceError::Io {
            path: error.path().to_string_lossy().into_owned(),
            source: error.into(),
        })?;
        any = true;
        if path.is_dir() {
            if !hidden(&path) {
                walk(&path, &mut Vec::new(), &mut found)?;
            }
        } else if !hidden(&path) && ending(&path).is_some() {
            found.push(path);
        }
    }
    if !any {
        return Err(SourceError::NotFound { path: input.into() });
    }
    // A pattern such as `**` matches a folder and what is in it.
    found.sort();
    found.dedup();
    nonempty(found, input)
}

fn nonempty(mut found: Vec<PathBuf>, input: &str) -> Result<Vec<PathBuf>, SourceError> {
    if found.is_empty() {
        return Err(SourceError::NoFiles { path: input.into() });
    }
    found.sort();
    Ok(found)
}

/// Collects the files of a folder; `above` holds the folders we are in, so that a link to one of them
/// ends the walk instead of repeating it.
fn walk(
    folder: &Path,
    above: &mut Vec<PathBuf>,
    found: &mut Vec<PathBuf>,
) -> Result<(), SourceError> {
    let error = |source| SourceError::Io {
        path: folder.to_string_lossy().into_owned(),
        source,
    };
    let real = fs::canonicalize(folder).map_err(error)?;
    // A link to a folder that we are in, or that is above where the walk began, repeats everything.
    if above.iter().any(|folder| folder.starts_with(&real)) {
        return Ok(());
    }
    above.push(real);
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if hidden(&path) {
            continue;
        }
        if path.is_dir() {
            walk(&path, above, found)?;
        } else if ending(&path).is_some() {
            found.push(path);
        }
    }
    above.pop();
    Ok(())
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

fn describe(path: PathBuf, name: String, format: Option<Format>) -> Result<InputFile, SourceError> {
    let meta = fs::metadata(&path).map_err(|source| SourceError::Io {
        path: name.clone(),
        source,
    })?;
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
    // Looking into a pipe would swallow its first bytes, so only regular files are asked.
    let compression = if by_name == Compression::None && regular && format != Format::Parquet {
        compress::sniff(&path).map_err(|source| SourceError::Io {
            path: name.clone(),
            source,
        })?
    } else {
        by_name
    };
    Ok(InputFile {
        path: Some(path),
        name,
        format,
        compression,
        bytes: if regular { meta.len() } else { 0 },
        dialect: Dialect::new(known.map_or(Delimiter::COMMA, |(_, delimiter, _)| delimiter)),
        regular,
    })
}
