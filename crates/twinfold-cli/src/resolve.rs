//! From what was written to what will run.
//!
//! Layers, the later over the earlier: defaults, the preset, the file, the command line. Nothing is
//! ignored in silence: a setting that has no meaning beside the others is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use twinfold::Threshold;
use twinfold::config::{BlockKey, Candidates, Config, ConfigError, EdgeListing, Linkage, Lsh};
use twinfold::represent::{KeepRule, nearest};
use twinfold::sketch::{Banding, HashFamily};
use twinfold::text::Tokenizer;
use twinfold_io::publish::{PublishSet, Relation};
use twinfold_io::source::{ColumnNames, Delimiter, Format, Quotes, SourceOptions};

use crate::fault::Fault;
use crate::memory;
use crate::options::{Settings, kinds};
use crate::progress::When;

/// What will run.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) source: SourceOptions,
    pub(crate) config: Config,
    pub(crate) out: Option<PathBuf>,
    pub(crate) publish: PublishSet,
    pub(crate) expect: Option<PathBuf>,
    pub(crate) overwrite: bool,
    pub(crate) strict: bool,
    pub(crate) threads: usize,
    /// The bound on memory, as it was stated.
    pub(crate) memory: String,
    pub(crate) work_dir: Option<PathBuf>,
    pub(crate) resume: bool,
    pub(crate) progress: When,
    pub(crate) quiet: bool,
    pub(crate) json: bool,
    /// The recall that bands and rows were chosen for.
    pub(crate) target_recall: Option<f64>,
    /// Every setting, as a file would have it.
    pub(crate) effective: Settings,
}

/// More threads than any machine has cores: a slip of the finger would bring it down.
const MOST_THREADS: usize = 4096;

/// Settings that only one of the candidate generators has.
const LSH_ONLY: [&str; 6] = [
    "hash-family",
    "hashes",
    "bands",
    "rows",
    "seed",
    "target-recall",
];
const BLOCKING_ONLY: [&str; 1] = ["block-by"];
pub(crate) const LOSSLESS_LACKS: [&str; 7] = [
    "hash-family",
    "hashes",
    "bands",
    "rows",
    "seed",
    "target-recall",
    "block-by",
];

/// The candidate generator that is meant where none is named: the one whose settings are given.
fn candidates_of(user: &toml::Table) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| user.contains_key(*key));
    if has(&LSH_ONLY) {
        Some("lsh")
    } else {
        has(&BLOCKING_ONLY).then_some("blocking")
    }
}

/// Resolves the command line over the file over the preset.
pub(crate) fn resolve(written: Settings, file: Option<&Path>) -> Result<Resolved, Fault> {
    let file = match file {
        Some(path) => read_file(path)?,
        None => toml::Table::new(),
    };
    layered(file, written)
}

/// Resolves the command line over the settings of a file.
pub(crate) fn layered(file: toml::Table, written: Settings) -> Result<Resolved, Fault> {
    let written = table(&written)?;
    let mut user = file;
    for (key, value) in &written {
        user.insert(key.clone(), value.clone());
    }
    let preset = match user.get("preset").and_then(|value| value.as_str()) {
        None => Settings::default(),
        Some("tutorial") => tutorial(),
        Some(other) => {
            return Err(Fault::new(format!(
                "there is no preset {other:?}; there is: tutorial"
            )));
        }
    };
    let mut settings = table(&preset)?;
    let named = |table: &toml::Table| {
        let name = table.get("candidates")?.as_str()?;
        Some(name.to_owned())
    };
    let meant = |table: &toml::Table| candidates_of(table).map(str::to_owned);
    // The command line goes over the file, and over all of it where it chooses another generator.
    let on_command_line = named(&written).or_else(|| meant(&written));
    let candidates = on_command_line
        .clone()
        .or_else(|| named(&user))
        .or_else(|| named(&settings))
        .or_else(|| meant(&user))
        .unwrap_or_else(|| "lossless".into());
    let foreign: &[&str] = match candidates.as_str() {
        "lossless" => &LOSSLESS_LACKS,
        "lsh" => &BLOCKING_ONLY,
        "blocking" => &LSH_ONLY,
        other => {
            return Err(Fault::new(format!(
                "{other:?} is not a candidate generator; there are: lossless, lsh, blocking"
            )));
        }
    };
    for &key in foreign {
        if written.contains_key(key) || on_command_line.is_none() && user.contains_key(key) {
            return Err(
                Fault::new(format!("{key} has no meaning with candidates {candidates}"))
                    .hint(format!("leave out {key}, or choose another --candidates")),
            );
        }
        user.remove(key);
        settings.remove(key);
    }
    user.insert("candidates".into(), candidates.into());
    if user.contains_key("target-recall") {
        for key in ["bands", "rows"] {
            if user.contains_key(key) {
                return Err(Fault::new(format!("target-recall chooses {key} itself"))
                    .hint(format!("leave out either target-recall or {key}")));
            }
            settings.remove(key);
        }
        if !user.contains_key("hashes") {
            settings.remove("hashes");
        }
    }
    for (key, value) in user {
        settings.insert(key, value);
    }
    // Every layer was checked by itself, so that a fault names its origin.
    let settings: Settings = toml::Value::Table(settings)
        .try_into()
        .map_err(Fault::new)?;
    complete(settings)
}

pub(crate) fn table(settings: &Settings) -> Result<toml::Table, Fault> {
    // All that a setting may be and TOML cannot hold.
    toml::Table::try_from(settings).map_err(|_| {
        let fields = serde_json::to_value(settings).unwrap_or_default();
        let too_large = fields.as_object().and_then(|fields| {
            fields
                .iter()
                .find(|(_, value)| value.as_u64() > Some(i64::MAX as u64))
        });
        let (key, value) = too_large.map_or(("a setting".into(), "a number".into()), |(k, v)| {
            (k.clone(), v.to_string())
        });
        Fault::new(format!(
            "{key} is {value}, and the largest number that there may be is {}",
            i64::MAX
        ))
    })
}

pub(crate) fn read_file(path: &Path) -> Result<toml::Table, Fault> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::new(format!("cannot read the settings in {shown}: {error}")))?;
    parse_file(&text, &shown.to_string())
}

/// The settings in the text of a file called `shown`.
pub(crate) fn parse_file(text: &str, shown: &str) -> Result<toml::Table, Fault> {
    let line = |span: Option<std::ops::Range<usize>>| {
        let at = span.map_or(0, |span| span.start.min(text.len()));
        text.as_bytes()[..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            + 1
    };
    type Written = BTreeMap<String, toml::Spanned<toml::Value>>;
    let written: Written = toml::from_str(text).map_err(|error| {
        let place = error.span().and_then(|span| text.get(span));
        let digits = |text: &&str| {
            text.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'_')
        };
        let problem = match place.filter(|text| !text.is_empty()).filter(digits) {
            // The parser says this in terms of its own types.
            Some(number) => format!("{number} is above {}, the largest number", i64::MAX),
            None => error.message().to_owned(),
        };
        Fault::new(format!("{shown}, line {}: {problem}", line(error.span())))
            .hint("settings are written like: threshold = 0.7")
    })?;
    let known = kinds();
    let mut table = toml::Table::new();
    // In the order of the file, so that the first fault in it is the one that is told.
    let mut entries: Vec<_> = written.into_iter().collect();
    entries.sort_by_key(|(_, value)| value.span().start);
    for (key, value) in entries {
        let place = format!("{shown}, line {}", line(Some(value.span())));
        let value = value.into_inner();
        match known.iter().find(|(name, _)| *name == key) {
            Some((_, kind)) if kind.holds(&value) => {}
            Some((_, kind)) => {
                return Err(Fault::new(format!(
                    "{place}: {key} must be {kind}, not {}",
                    what(&value)
                )));
            }
            None => {
                let names: Vec<String> = known.into_iter().map(|(name, _)| name).collect();
                let fault = Fault::new(format!("{place}: there is no setting {key:?}"));
                return Err(match nearest(&key, &names) {
                    Some(name) => fault.hint(format!("did you mean {name:?}?")),
                    None => fault.hint(format!("there are: {}", names.join(", "))),
                });
            }
        }
        table.insert(key, value);
    }
    Ok(table)
}

/// A value of a settings file in the words of someone who wrote it.
fn what(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => format!("the text {text:?}"),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(switch) => switch.to_string(),
        toml::Value::Datetime(date) => format!("the date {date}"),
        toml::Value::Array(items) => match items.iter().find(|item| !item.is_str()) {
            Some(item) => format!("a list with {}", what(item)),
            None => "a list".into(),
        },
        toml::Value::Table(_) => "a table".into(),
    }
}

fn tutorial() -> Settings {
    Settings {
        tokenizer: Some("words".into()),
        candidates: Some("lsh".into()),
        hash_family: Some("blake2b".into()),
        hashes: Some(64),
        bands: Some(8),
        rows: Some(8),
        seed: Some(42),
        threshold: Some("0.7".into()),
        edges: Some("all".into()),
        max_pairs: Some(1_000_000),
        publish: Some("all".into()),
        ..Settings::default()
    }
}

fn complete(settings: Settings) -> Result<Resolved, Fault> {
    let threshold: Threshold =
        or_default(&settings.threshold).map_err(|error| Fault::from(ConfigError::from(error)))?;
    let tokenizer: Tokenizer =
        or_default(&settings.tokenizer).map_err(|error| Fault::from(ConfigError::from(error)))?;
    let linkage: Linkage = or_default(&settings.linkage)?;
    let edges: EdgeListing = or_default(&settings.edges)?;
    let keep: KeepRule =
        or_default(&settings.keep).map_err(|error| Fault::from(twinfold::Error::from(error)))?;
    let publish: PublishSet = or_default(&settings.publish).map_err(Fault::new)?;
    let progress: When = or_default(&settings.progress).map_err(Fault::new)?;
    let candidates = match settings.candidates.as_deref() {
        Some("blocking") => {
            let key = settings
                .block_by
                .clone()
                .unwrap_or_else(|| "prefix-tokens".into());
            Candidates::Blocking(BlockKey::from(key))
        }
        Some("lsh") => Candidates::Lsh(lsh(&settings, threshold)?),
        // `resolve` has refused any other name.
        _ => Candidates::Lossless,
    };
    let config = Config {
        tokenizer,
        shingle_size: settings
            .shingle_size
            .unwrap_or(Config::default().shingle_size),
        threshold,
        candidates,
        linkage,
        edges,
        max_pairs: settings.max_pairs.unwrap_or(Config::DEFAULT_MAX_PAIRS),
        keep,
        keep_numbers: settings.keep_numbers.unwrap_or(false),
    };
    config.validate()?;
    let threads = match settings.threads {
        Some(threads) if !(1..=MOST_THREADS).contains(&threads) => {
            return Err(Fault::new(format!(
                "threads must be 1 to {MOST_THREADS}, not {threads}"
            )));
        }
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
    };
    let memory = settings.memory.clone();
    let memory = memory.unwrap_or_else(|| memory::DEFAULT.into());
    memory::check(&memory)?;
    let resume = settings.resume.unwrap_or(false);
    if resume && settings.work_dir.is_none() {
        return Err(Fault::new("--resume needs the folder to go on from")
            .hint("add the --work-dir of the run that was interrupted"));
    }
    let format = settings
        .format
        .as_deref()
        .map(str::parse::<Format>)
        .transpose()
        .map_err(Fault::new)?;
    let delimiter = settings
        .delimiter
        .as_deref()
        .map(str::parse::<Delimiter>)
        .transpose()
        .map_err(Fault::new)?;
    let quotes: Quotes = or_default(&settings.quote).map_err(Fault::new)?;
    let source = SourceOptions {
        inputs: settings.inputs.clone(),
        format,
        columns: ColumnNames {
            id: settings.id_column.clone(),
            text: settings.text_column.clone(),
            source: settings.source_column.clone(),
            domain: settings.domain_column.clone(),
            date: settings.date_column.clone(),
            title: settings.title_column.clone(),
        },
        make_ids: settings.make_ids.unwrap_or(false),
        delimiter,
        quotes,
        output: settings.out.as_ref().map(PathBuf::from),
    };
    let mut resolved = Resolved {
        source,
        config,
        out: settings.out.as_ref().map(PathBuf::from),
        publish,
        expect: settings.expect.as_ref().map(PathBuf::from),
        overwrite: settings.overwrite.unwrap_or(false),
        strict: settings.strict.unwrap_or(false),
        threads,
        memory,
        work_dir: settings.work_dir.as_ref().map(PathBuf::from),
        resume,
        progress,
        quiet: settings.quiet.unwrap_or(false),
        json: settings.json.unwrap_or(false),
        target_recall: settings.target_recall,
        effective: settings,
    };
    resolved.effective = resolved.effective();
    Ok(resolved)
}

fn or_default<T: FromStr + Default>(text: &Option<String>) -> Result<T, T::Err> {
    text.as_deref().map_or_else(|| Ok(T::default()), str::parse)
}

fn lsh(settings: &Settings, threshold: Threshold) -> Result<Lsh, Fault> {
    let family: HashFamily =
        or_default(&settings.hash_family).map_err(|error| Fault::from(ConfigError::from(error)))?;
    let banding = match settings.target_recall {
        Some(recall) => Banding::for_recall(
            recall,
            threshold.as_f64(),
            settings.hashes.unwrap_or(Banding::DEFAULT_RECALL_HASHES),
        ),
        None => Banding::new(
            settings.bands.unwrap_or(8),
            settings.rows.unwrap_or(8),
            settings.hashes.unwrap_or(64),
        ),
    };
    let banding = banding.map_err(|error| Fault::from(ConfigError::from(error)))?;
    Ok(Lsh {
        family,
        banding,
        seed: settings.seed.unwrap_or(42),
    })
}

impl Resolved {
    /// Every setting, as a file that a run can read.
    pub(crate) fn to_toml(&self) -> Result<String, Fault> {
        toml::to_string(&self.effective).map_err(Fault::new)
    }

    /// Every setting with the value that it has.
    fn effective(&self) -> Settings {
        let written = &self.effective;
        let config = &self.config;
        let mut settings = Settings {
            inputs: written.inputs.clone(),
            out: written.out.clone(),
            format: written.format.clone(),
            delimiter: self.source.delimiter.map(|delimiter| delimiter.to_string()),
            quote: Some(self.source.quotes.to_string()),
            make_ids: Some(self.source.make_ids),
            strict: Some(self.strict),
            tokenizer: Some(config.tokenizer.to_string()),
            shingle_size: Some(config.shingle_size),
            threshold: Some(config.threshold.to_string()),
            keep_numbers: Some(config.keep_numbers),
            linkage: Some(config.linkage.to_string()),
            edges: Some(config.edges.to_string()),
            max_pairs: Some(config.max_pairs),
            keep: Some(config.keep.to_string()),
            publish: Some(self.publish.to_string()),
            overwrite: Some(self.overwrite),
            threads: Some(self.threads),
            memory: Some(self.memory.clone()),
            resume: Some(self.resume),
            progress: Some(self.progress.to_string()),
            quiet: Some(self.quiet),
            json: Some(self.json),
            ..written.clone()
        };
        // What the preset and the wanted recall stood for is written out.
        settings.preset = None;
        settings.target_recall = None;
        match &config.candidates {
            Candidates::Lsh(lsh) => {
                settings.candidates = Some("lsh".into());
                settings.hash_family = Some(lsh.family.to_string());
                settings.hashes = Some(lsh.banding.hashes());
                settings.bands = Some(lsh.banding.bands());
                settings.rows = Some(lsh.banding.rows());
                settings.seed = Some(lsh.seed);
            }
            Candidates::Lossless => settings.candidates = Some("lossless".into()),
            Candidates::Blocking(key) => {
                settings.candidates = Some("blocking".into());
                settings.block_by = Some(key.to_string());
            }
        }
        settings
    }

    /// The settings that decide what comes out, for the manifest.
    pub(crate) fn configuration(&self) -> Settings {
        Settings {
            out: None,
            expect: None,
            overwrite: None,
            threads: None,
            memory: None,
            work_dir: None,
            resume: None,
            progress: None,
            quiet: None,
            json: None,
            ..self.effective.clone()
        }
    }
}

/// The names of the relations, for `--publish help`.
pub(crate) fn relations_help() -> String {
    let mut help =
        String::from("release (default) publishes those marked with a star; all, every one:\n");
    for relation in Relation::ALL {
        let star = if relation.in_release() { '*' } else { ' ' };
        help.push_str(&format!(
            "  {star} {:<20} {}\n",
            relation.name(),
            relation.file_name()
        ));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<toml::Table, Fault> {
        parse_file(text, "twinfold.toml")
    }

    fn message(fault: Fault) -> String {
        format!("{fault:?}")
    }

    #[test]
    fn the_tutorial_preset_is_overridden() {
        let settings = Settings {
            preset: Some("tutorial".into()),
            threshold: Some("0.8".into()),
            ..Settings::default()
        };
        let resolved = resolve(settings, None).unwrap();
        assert_eq!(resolved.config.threshold.to_string(), "0.8");
        assert_eq!(resolved.config.tokenizer, Tokenizer::Words);
        assert_eq!(resolved.config.max_pairs, 1_000_000);
        assert_eq!(resolved.publish.to_string(), "all");
    }

    #[test]
    fn what_is_printed_resolves_to_itself() {
        for settings in [
            Settings::default(),
            Settings {
                preset: Some("tutorial".into()),
                ..Settings::default()
            },
            Settings {
                target_recall: Some(0.99),
                ..Settings::default()
            },
            Settings {
                candidates: Some("blocking".into()),
                block_by: Some("length".into()),
                keep: Some("source=[a,b]".into()),
                ..Settings::default()
            },
        ] {
            let first = resolve(settings, None).unwrap();
            let again = resolve(first.effective.clone(), None).unwrap();
            assert_eq!(first.effective, again.effective);
            assert_eq!(first.config, again.config);
        }
    }

    #[test]
    fn settings_that_mean_nothing_are_refused() {
        for settings in [
            Settings {
                candidates: Some("lossless".into()),
                block_by: Some("length".into()),
                ..Settings::default()
            },
            Settings {
                seed: Some(1),
                block_by: Some("length".into()),
                ..Settings::default()
            },
            Settings {
                candidates: Some("blocking".into()),
                bands: Some(8),
                ..Settings::default()
            },
            Settings {
                target_recall: Some(0.9),
                rows: Some(8),
                ..Settings::default()
            },
            Settings {
                candidates: Some("magic".into()),
                ..Settings::default()
            },
            Settings {
                threads: Some(0),
                ..Settings::default()
            },
            Settings {
                threshold: Some("1.5".into()),
                ..Settings::default()
            },
            Settings {
                bands: Some(9),
                ..Settings::default()
            },
            Settings {
                shingle_size: Some(0),
                ..Settings::default()
            },
            Settings {
                preset: Some("magic".into()),
                ..Settings::default()
            },
        ] {
            assert!(resolve(settings.clone(), None).is_err(), "{settings:?}");
        }
    }

    #[test]
    fn a_setting_of_one_generator_chooses_it() {
        let candidates = |settings| resolve(settings, None).unwrap().effective.candidates;
        let recall = Settings {
            target_recall: Some(0.9),
            ..Settings::default()
        };
        let block = Settings {
            block_by: Some("length".into()),
            ..Settings::default()
        };
        let tutorial = Settings {
            preset: Some("tutorial".into()),
            ..Settings::default()
        };
        assert_eq!(candidates(recall).as_deref(), Some("lsh"));
        assert_eq!(candidates(block).as_deref(), Some("blocking"));
        assert_eq!(candidates(tutorial).as_deref(), Some("lsh"));
        assert_eq!(candidates(Settings::default()).as_deref(), Some("lossless"));
    }

    #[test]
    fn files_name_the_line_and_the_nearest_key() {
        assert!(
            message(file("threshold = 0.7\ntreshold = 0.8").unwrap_err()).contains("threshold")
        );
        assert!(message(file("\nthreshold = \n").unwrap_err()).contains("line 2"));
        assert!(message(file("\n\nbands = \"x\"").unwrap_err()).contains("line 3"));
        assert!(file("threshold = 0.55\nmax-pairs = 1_000\ninputs = ['a']\nquiet = true").is_ok());
        assert!(file("threshold = 1").is_ok());
    }

    #[test]
    fn a_threshold_in_a_file_is_the_decimal_that_was_written() {
        let table = file("threshold = 0.55").unwrap();
        let settings: Settings = toml::Value::Table(table).try_into().unwrap();
        assert_eq!(settings.threshold.as_deref(), Some("0.55"));
    }
}
