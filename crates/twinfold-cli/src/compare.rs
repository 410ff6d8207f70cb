//! What `twinfold recall` will do: the settings of a run, the list of generators to hold against the
//! truth, and the sample.

use twinfold::Threshold;
use twinfold::config::{BlockKey, Candidates, ConfigError, Lsh};
use twinfold::sketch::{Banding, HashFamily};

use crate::fault::Fault;
use crate::options::RecallArguments;
use crate::resolve::{LOSSLESS_LACKS, Resolved, layered, read_file, table};

/// What will be measured.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    /// The settings of the run; its candidate generator is not looked at.
    pub(crate) resolved: Resolved,
    pub(crate) settings: Vec<Setting>,
    pub(crate) sample: Option<Sample>,
}

/// A setting to hold against the truth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    /// As the list has it.
    pub(crate) name: String,
    pub(crate) candidates: Candidates,
    /// The recall that bands and rows were chosen for.
    pub(crate) target_recall: Option<f64>,
}

/// The documents to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) size: u64,
    pub(crate) seed: u64,
}

const DEFAULT_SEED: u64 = 42;
/// What is compared where the options choose the lossless generator, which is the truth itself.
const DEFAULT_LIST: &str = "lsh:8x8,lsh:20x5";
const ALLOWED: &str = "an item is lossless, lsh:BANDSxROWS such as lsh:20x5, lsh:RECALL such as \
    lsh:0.99, either with :blake2b at its end, or blocking:KEY with prefix-tokens, \
    title-trigrams, length or a column's name as its key";

/// Resolves the command line over the settings file.
pub(crate) fn resolve(arguments: RecallArguments) -> Result<Measurement, Fault> {
    let mut file = match &arguments.config {
        Some(path) => read_file(path)?,
        None => toml::Table::new(),
    };
    let written = table(&arguments.settings)?;
    for key in RecallArguments::WITHOUT_MEANING {
        if written.contains_key(key) {
            return Err(Fault::new(format!("{key} has no meaning for recall"))
                .hint(format!("leave out --{key}")));
        }
        file.remove(key);
    }
    // A file's output folder is that of the run that it describes.
    file.remove("out");
    if arguments.compare.is_some() {
        let candidates = LOSSLESS_LACKS.into_iter().chain(["candidates"]);
        for key in candidates.filter(|&key| key != "seed") {
            if written.contains_key(key) {
                return Err(Fault::new(format!("{key} has no meaning with --compare"))
                    .hint(format!("leave out --{key}; {ALLOWED}")));
            }
            file.remove(key);
        }
    }
    let sample = sample(arguments.sample, arguments.sample_seed)?;
    let resolved = layered(file, arguments.settings)?;

    let chosen = &resolved.config.candidates;
    let seed = match chosen {
        Candidates::Lsh(lsh) => lsh.seed,
        Candidates::Lossless | Candidates::Blocking(_) => DEFAULT_SEED,
    };
    let threshold = resolved.config.threshold;
    let settings = match (&arguments.compare, chosen) {
        (Some(list), _) => parse(list, threshold, seed)?,
        (None, Candidates::Lossless) => parse(DEFAULT_LIST, threshold, seed)?,
        (None, candidates) => vec![Setting {
            name: name(candidates),
            candidates: candidates.clone(),
            target_recall: resolved.target_recall,
        }],
    };
    let permutes = |setting: &Setting| matches!(setting.candidates, Candidates::Lsh(_));
    if written.contains_key("seed") && !settings.iter().any(permutes) {
        return Err(
            Fault::new("seed has no meaning with a --compare list without lsh")
                .hint("leave out --seed; --sample-seed is the seed of the sample"),
        );
    }
    Ok(Measurement {
        resolved,
        settings,
        sample,
    })
}

fn sample(size: Option<u64>, seed: Option<u64>) -> Result<Option<Sample>, Fault> {
    match (size, seed) {
        (None, Some(_)) => Err(Fault::new("sample-seed has no meaning without --sample")
            .hint("leave out --sample-seed, or add --sample N")),
        (Some(size), _) if size < 2 => Err(Fault::new(format!(
            "a sample of {size} documents has no pairs"
        ))
        .hint("draw 2 or more, better some thousands, with --sample N")),
        (None, None) => Ok(None),
        (Some(size), seed) => Ok(Some(Sample {
            size,
            seed: seed.unwrap_or(DEFAULT_SEED),
        })),
    }
}

/// The settings of a list. No two of them may be the same.
fn parse(list: &str, threshold: Threshold, seed: u64) -> Result<Vec<Setting>, Fault> {
    let mut settings: Vec<Setting> = Vec::new();
    for item in list.split(',').map(str::trim) {
        let setting = parse_item(item, threshold, seed).map_err(|problem| {
            Fault::new(format!("--compare, {item:?}: {problem}")).hint(ALLOWED)
        })?;
        if let Some(same) = settings
            .iter()
            .find(|earlier| earlier.candidates == setting.candidates)
        {
            return Err(Fault::new(format!(
                "--compare, {item:?}: this is the same setting as {:?}",
                same.name
            ))
            .hint("leave out one of them"));
        }
        settings.push(setting);
    }
    Ok(settings)
}

fn parse_item(item: &str, threshold: Threshold, seed: u64) -> Result<Setting, String> {
    let mut target_recall = None;
    let candidates = match item.split_once(':') {
        None if item == "lossless" => Candidates::Lossless,
        Some(("blocking", "")) => return Err("blocking needs a key".into()),
        Some(("blocking", key)) => Candidates::Blocking(BlockKey::from(key.to_owned())),
        Some(("lsh", settings)) => {
            let (size, family) = settings.split_once(':').unwrap_or((settings, "fast"));
            let family: HashFamily = family.parse().map_err(text)?;
            let banding = match size.split_once('x') {
                Some((bands, rows)) => {
                    let number = |text: &str| {
                        text.parse::<usize>()
                            .map_err(|_| format!("{text:?} is no number of bands or rows"))
                    };
                    let (bands, rows) = (number(bands)?, number(rows)?);
                    Banding::new(bands, rows, bands.saturating_mul(rows))
                }
                None => {
                    let recall: f64 = size
                        .parse()
                        .map_err(|_| format!("{size:?} is neither BANDSxROWS nor a recall"))?;
                    target_recall = Some(recall);
                    let hashes = Banding::DEFAULT_RECALL_HASHES;
                    Banding::for_recall(recall, threshold.as_f64(), hashes)
                }
            };
            Candidates::Lsh(Lsh {
                family,
                banding: banding.map_err(|error| text(ConfigError::from(error)))?,
                seed,
            })
        }
        _ => return Err("there is no such setting".into()),
    };
    Ok(Setting {
        name: item.into(),
        candidates,
        target_recall,
    })
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A setting as a list has it.
fn name(candidates: &Candidates) -> String {
    match candidates {
        Candidates::Lossless => "lossless".into(),
        Candidates::Blocking(key) => format!("blocking:{key}"),
        Candidates::Lsh(lsh) => {
            let family = match lsh.family {
                HashFamily::Fast => String::new(),
                family => format!(":{family}"),
            };
            format!("lsh:{}x{}{family}", lsh.banding.bands(), lsh.banding.rows())
        }
    }
}

impl Measurement {
    /// What decides the results, for the manifest: the settings of the run that are measured, and the
    /// list and the sample in place of its candidate generator.
    pub(crate) fn configuration(&self) -> Result<serde_json::Value, Fault> {
        let mut value = serde_json::to_value(self.resolved.configuration()).map_err(Fault::new)?;
        if let Some(fields) = value.as_object_mut() {
            let candidates = LOSSLESS_LACKS.into_iter().chain(["candidates"]);
            for key in candidates.chain(RecallArguments::WITHOUT_MEANING) {
                fields.remove(key);
            }
            let names: Vec<&str> = self.settings.iter().map(|s| s.name.as_str()).collect();
            fields.insert("compare".into(), names.join(",").into());
            let seed = self
                .settings
                .iter()
                .find_map(|setting| match &setting.candidates {
                    Candidates::Lsh(lsh) => Some(lsh.seed),
                    Candidates::Lossless | Candidates::Blocking(_) => None,
                });
            if let Some(seed) = seed {
                fields.insert("seed".into(), seed.into());
            }
            if let Some(sample) = self.sample {
                fields.insert("sample".into(), sample.size.into());
                fields.insert("sample-seed".into(), sample.seed.into());
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<Setting>, Fault> {
        parse(text, Threshold::DEFAULT, 7)
    }

    #[test]
    fn every_kind_of_item() {
        let settings =
            list("lossless, lsh:8x8,lsh:20x5:blake2b,lsh:0.99,blocking:length,blocking:a:b")
                .unwrap();
        let banding = |at: usize| match &settings[at].candidates {
            Candidates::Lsh(lsh) => (
                lsh.banding.bands(),
                lsh.banding.rows(),
                lsh.family,
                lsh.seed,
            ),
            other => panic!("{other:?}"),
        };
        assert_eq!(settings[0].candidates, Candidates::Lossless);
        assert_eq!(banding(1), (8, 8, HashFamily::Fast, 7));
        assert_eq!(banding(2), (20, 5, HashFamily::Blake2b, 7));
        let chosen = Banding::for_recall(0.99, 0.7, 256).unwrap();
        assert_eq!(banding(3).0, chosen.bands());
        assert_eq!(settings[3].target_recall, Some(0.99));
        assert_eq!(
            settings[4].candidates,
            Candidates::Blocking(BlockKey::Length)
        );
        assert_eq!(
            settings[5].candidates,
            Candidates::Blocking(BlockKey::Column("a:b".into()))
        );
        // A name reads back as the setting that it names.
        for setting in &settings {
            let again = list(&name(&setting.candidates)).unwrap();
            assert_eq!(again[0].candidates, setting.candidates);
        }
    }

    #[test]
    fn faults_name_the_item_and_what_is_allowed() {
        for (text, item, problem) in [
            ("", "\"\"", "no such"),
            ("lsh", "\"lsh\"", "no such"),
            ("lossless:1", "lossless:1", "no such"),
            ("lsh:8x8,", "\"\"", "no such"),
            ("lsh:", "\"lsh:\"", "neither"),
            ("lsh:8", "\"lsh:8\"", "recall of 8"),
            ("lsh:1.0", "\"lsh:1.0\"", "recall of 1"),
            ("lsh:nan", "\"lsh:nan\"", "recall"),
            ("lsh:0x8", "\"lsh:0x8\"", "at least 1"),
            ("lsh:8x-1", "\"lsh:8x-1\"", "\"-1\""),
            ("lsh:8x8x8", "\"lsh:8x8x8\"", "\"8x8\""),
            ("lsh:100x100", "\"lsh:100x100\"", "10000"),
            ("lsh:8x8:md5", "\"lsh:8x8:md5\"", "md5"),
            ("blocking", "\"blocking\"", "no such"),
            ("blocking:", "\"blocking:\"", "key"),
            (
                "lsh:8x8,blocking:length,lsh:08x8",
                "\"lsh:08x8\"",
                "same setting as \"lsh:8x8\"",
            ),
        ] {
            let fault = list(text).unwrap_err();
            let said = format!("{fault:?}");
            let plain = fault.to_string();
            assert!(
                plain.contains(item) && plain.contains(problem),
                "{text}: {said}"
            );
            assert!(
                said.contains("lsh:RECALL") || said.contains("leave out"),
                "{said}"
            );
        }
    }
}
