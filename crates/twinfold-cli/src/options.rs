//! What a user can write, on the command line or in `twinfold.toml`.
//!
//! Every setting is declared here once. The command line, its help and the keys of the file all
//! come from this struct; [`crate::resolve`] turns it into what will run.

use std::any::TypeId;
use std::fmt;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use serde::{Deserialize, Deserializer, Serialize};

/// The settings of a run. Nothing here is resolved: `None` means that nothing was written.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Files, folders or globs of CSV, Parquet and JSON Lines; `-` is JSON Lines on standard input
    ///
    /// CSV and JSON Lines may be compressed (.gz, .zst). Formats may be mixed. Folders are searched
    /// for files with the endings csv, tsv, parquet, pq, jsonl, ndjson and json.
    #[arg(value_name = "INPUT")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) inputs: Vec<String>,

    /// Folder for the results; made if need be [required]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) out: Option<String>,

    /// Base settings: tutorial
    ///
    /// `tutorial` reproduces the tutorial that the project began from: tokenizer words, hash family
    /// blake2b, 64 hashes in 8 bands of 8 rows, seed 42, threshold 0.7, every edge listed within
    /// 1,000,000 pair slots, every relation published. Other settings override it.
    #[arg(long, value_name = "NAME", help_heading = "Settings")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<String>,

    /// Format of every input, whatever its name: csv, parquet or jsonl
    ///
    /// [default: by the ending of each name]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<String>,

    /// What stands between the fields of CSV: a character such as ; or |, tab, or a byte such as \x01
    ///
    /// [default: comma; tab where the name ends in .tsv; what a first line such as `sep=;` says]
    #[arg(long, value_name = "CHARACTER", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delimiter: Option<String>,

    /// What quotes mean in CSV: auto, " or none [default: auto]
    ///
    /// ": one that begins a field quotes it, over line ends too. auto: the same, but where the lines
    /// that it takes look like records of their own, it is taken for a stray one. none: quotes are
    /// plain characters, as in many files with tabs. The line with a stray or unclosed quote is set
    /// aside, and no other.
    #[arg(long, value_name = "QUOTE", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quote: Option<String>,

    /// Column with the ids [default: doc_id, else id]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id_column: Option<String>,

    /// Column with the texts [default: body, else text]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_column: Option<String>,

    /// Column with the sources, which the summary counts by [default: source, if there]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_column: Option<String>,

    /// Column with the domains, which the summary counts by [default: domain, if there]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) domain_column: Option<String>,

    /// Column with the dates, which the keep rule calls crawled_at [default: crawled_at, if there]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) date_column: Option<String>,

    /// Column with the titles [default: title, if there]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title_column: Option<String>,

    /// Make ids from file name and row where there are none, or where they repeat [default: false]
    ///
    /// Without it, a missing or repeated id stops the run, and a record whose id is neither a text nor
    /// an integer is set aside. Made ids depend on the names of the
    /// files and the order of their rows.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) make_ids: Option<bool>,

    /// Stop if any record cannot be used, instead of setting it aside [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Input")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,

    /// How texts are cut into tokens: unicode, words, chars or code [default: unicode]
    ///
    /// unicode: words of every script; single characters where a script writes no spaces.
    /// words: runs of letters and numbers, accents dropped. chars: single characters, for very
    /// short or noisy text; five times as many shingles. code: identifiers, numbers and
    /// punctuation, in their case.
    #[arg(long, value_name = "NAME", help_heading = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokenizer: Option<String>,

    /// Tokens of a shingle [default: 5]
    ///
    /// Fewer are more tolerant of small edits and more easily alike by chance. A text with fewer
    /// tokens is one shingle.
    #[arg(long, value_name = "TOKENS", value_parser = whole_number::<usize>, allow_negative_numbers = true, help_heading = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shingle_size: Option<usize>,

    /// Jaccard similarity from which two documents are duplicates: above 0, at most 1 [default: 0.7]
    ///
    /// Kept as the exact ratio that the decimal (or a ratio such as 2/3) names.
    #[arg(
        long,
        value_name = "RATIO",
        allow_hyphen_values = true,
        help_heading = "Text"
    )]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "text_or_number"
    )]
    pub(crate) threshold: Option<String>,

    /// Refuse pairs that do not have the same numbers, however similar they are [default: false]
    ///
    /// Keeps records of one template apart, such as roads or invoices. A token with a digit in it
    /// is a number; 1.5 is two, 1 and 5. Their order and repeats do not count: a day and a month
    /// that change places are the same numbers. The refused pairs are counted as long as looking at them fits --max-pairs and
    /// every edge is listed; beyond, they are passed over unseen, and the summary says so.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_numbers: Option<bool>,

    /// Where candidate pairs come from: lossless, lsh or blocking [default: lossless]
    ///
    /// lossless: every pair at or above the threshold, by a prefix-filter join.
    /// lsh: pairs that agree in a band of min-hash values; probabilistic, with its curve printed.
    /// blocking: pairs that share a cheap key; heuristic.
    /// A setting that only lsh or blocking has chooses it.
    #[arg(long, value_name = "NAME", help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) candidates: Option<String>,

    /// Permutations of lsh: fast or blake2b [default: fast]
    ///
    /// blake2b can be recomputed by anyone, and takes over a hundred times as long.
    #[arg(long, value_name = "NAME", help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash_family: Option<String>,

    /// Min-hash values of a document [default: 64]
    ///
    /// Each costs 8 bytes of memory a document. With --target-recall, the most that may be used
    /// [default: 256].
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, allow_negative_numbers = true, help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hashes: Option<usize>,

    /// Bands of lsh: more find more, and look at more pairs [default: 8]
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, allow_negative_numbers = true, help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bands: Option<usize>,

    /// Rows of a band: more look at fewer pairs, and find fewer [default: 8]
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, allow_negative_numbers = true, help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<usize>,

    /// Seed of the permutations [default: 42]
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>, allow_negative_numbers = true, help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,

    /// Choose bands and rows for this recall at the threshold, such as 0.99
    ///
    /// The steepest curve that fits in --hashes values is chosen, and printed.
    #[arg(
        long,
        value_name = "R",
        allow_hyphen_values = true,
        help_heading = "Candidates"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_recall: Option<f64>,

    /// Key of blocking: prefix-tokens, title-trigrams, length or a column's name
    ///
    /// [default: prefix-tokens]
    #[arg(long, value_name = "KEY", help_heading = "Candidates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) block_by: Option<String>,

    /// How edges become clusters: components or star [default: components]
    ///
    /// components: everything that is connected. star: a representative and what matches it
    /// directly, so that chains of small changes are cut; has to find every pair of unlike texts,
    /// and of copies only one for each.
    #[arg(long, value_name = "NAME", help_heading = "Clusters")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) linkage: Option<String>,

    /// Which edges are listed: auto, all or spanning [default: auto]
    ///
    /// all: every accepted pair; an error above --max-pairs. spanning: just enough to connect each
    /// cluster, never quadratic in copies; with stars, one for each removed document. auto: all, or
    /// spanning above --max-pairs.
    #[arg(long, value_name = "NAME", help_heading = "Clusters")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edges: Option<String>,

    /// Pair slots up to which every edge is listed [default: 50000000]
    ///
    /// A slot is a key and a pair of documents that share it; slots are counted before any pair is
    /// looked at. Memory and the size of duplicate_pairs grow with the listed edges. Stars whose
    /// edges are not all listed hold the pairs of unlike texts against it, and fail above it.
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>, allow_negative_numbers = true, help_heading = "Clusters")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_pairs: Option<u64>,

    /// Which member of a cluster is kept [default: "crawled_at desc, token_count desc, doc_id"]
    ///
    /// Columns in order of importance, each `asc` or `desc`, or with the values that come first:
    /// "source=[curated,web], token_count desc, doc_id". Missing values and unreadable dates come
    /// last. The rule always ends in doc_id.
    #[arg(long, value_name = "RULE", help_heading = "Clusters")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<String>,

    /// Relations to write: release, all, or names joined by commas [default: release]
    ///
    /// `twinfold run --publish help` lists the names. all adds relations that are larger than the
    /// input. Of release, duplicate_pairs may be large where copies abound: --edges spanning keeps it
    /// small.
    #[arg(long, value_name = "NAMES", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) publish: Option<String>,

    /// Stop before writing unless the results are those in this JSON file
    ///
    /// It holds any of `records`, `counts`, `reduction_ratio`, `recall` and `generator`, as --json
    /// prints them, and `kept_doc_ids`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expect: Option<String>,

    /// Replace the files of an earlier run in the output folder [default: false]
    ///
    /// Other files in it are left alone.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overwrite: Option<bool>,

    /// Threads to work with [default: one for each core]
    ///
    /// Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, allow_negative_numbers = true, help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<usize>,

    /// Memory that the run may take: an amount such as 2GB or 512MiB, or a share of the machine's
    ///
    /// [default: 70% of what the machine, or the control group, has]. At least 256MiB. What doesn't fit
    /// goes to files; results do not depend on it. About 300 bytes are needed for each document beside
    /// its id, title, source, domain and date, more with lsh; and ten times its length for the longest
    /// text, more with chars or with fingerprinted among the relations. A run that can't do with so
    /// little says what it needs, and stops.
    #[arg(long, value_name = "SIZE", help_heading = "Memory and disk")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<String>,

    /// Folder for what memory has no room for, and for stages that are whole
    ///
    /// A folder of its own: made if need be, and removed at the end. If the run is interrupted, it
    /// stays with the last whole stage, and the same command goes on from there with --resume. It takes
    /// up to four times as many bytes as the texts, and up to twelve times with chars. Without it, what memory has no room for goes to
    /// files in the output folder that are gone when the run ends, however it ends.
    #[arg(long, value_name = "DIR", help_heading = "Memory and disk")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) work_dir: Option<String>,

    /// Go on from the last whole stage in --work-dir [default: false]
    ///
    /// Only where input and settings are the same, spelled the same: a run that differs is refused;
    /// --memory, --threads and --out may differ.
    /// Files whose size and times are as they were are taken for the same; standard input cannot be.
    /// Where there is no stage yet, the run begins anew.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Memory and disk")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resume: Option<bool>,

    /// Show progress: auto, always or never [default: auto]
    ///
    /// Bars on a terminal, plain lines elsewhere, on standard error; `always` also with --quiet.
    #[arg(long, value_name = "WHEN", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<String>,

    /// Print nothing but errors [default: false]
    #[arg(short, long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quiet: Option<bool>,

    /// Print the summary as JSON on standard output [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json: Option<bool>,
}

/// What `twinfold recall` is asked for beside the settings of a run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RecallArguments {
    /// File with the settings of a run, in TOML; the command line overrides it
    ///
    /// What only concerns the results of the run (out, publish, edges, expect, memory, work-dir, resume) is passed over, and
    /// with --compare the candidate generator, too.
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,

    /// Candidate generators to hold against the truth, joined by commas
    ///
    /// lossless; lsh:BANDSxROWS, such as lsh:20x5; lsh:RECALL, such as lsh:0.99, which chooses bands
    /// and rows as --target-recall does; each of the two with :blake2b at its end for those
    /// permutations; blocking:KEY, such as blocking:length or blocking:title-trigrams. Each takes a
    /// fingerprinting of all documents and a join; the input is read once.
    ///
    /// [default: the generator that the options choose; lsh:8x8,lsh:20x5 where that is lossless]
    #[arg(long, value_name = "LIST", help_heading = "Recall")]
    pub(crate) compare: Option<String>,

    /// Measure on this many documents, drawn at random [default: all]
    ///
    /// For corpora whose truth takes too long. A pair of documents is drawn with the square of the
    /// documents' share, so small families of duplicates thin out, and the join gets cheaper as fast.
    /// Each recall comes with its 95% interval, from 1,000 resamples of whole families. The whole
    /// input is read all the same.
    #[arg(long, value_name = "N", help_heading = "Recall")]
    pub(crate) sample: Option<u64>,

    /// Seed of the sample and of the resamples [default: 42]
    #[arg(long, value_name = "N", help_heading = "Recall")]
    pub(crate) sample_seed: Option<u64>,

    #[command(flatten)]
    pub(crate) settings: Settings,
}

impl RecallArguments {
    /// Settings that decide what a run leaves behind, and nothing that is measured: hidden in the help,
    /// and refused.
    pub(crate) const WITHOUT_MEANING: [&str; 6] =
        ["publish", "edges", "expect", "memory", "work-dir", "resume"];

    /// The command with what is different from a run.
    pub(crate) fn adapt(command: clap::Command) -> clap::Command {
        Self::WITHOUT_MEANING
            .into_iter()
            .fold(command, |command, name| {
                command.mut_arg(name.replace('-', "_"), |argument| argument.hide(true))
            })
            .mut_arg("max_pairs", |argument| {
                argument
                    .help("Pair slots up to which a setting is measured [default: 50000000]")
                    .long_help(
                        "Pair slots up to which a setting is measured [default: 50000000]\n\n\
                         A slot is a key and a pair of documents that share it; slots are counted \
                         before any pair is looked at. A setting with more is listed as over the \
                         budget; a truth with more stops the command before its join. Time and \
                         memory grow with them.",
                    )
            })
            .mut_arg("json", |argument| {
                argument.help("Print the report as JSON on standard output [default: false]")
            })
    }
}

/// A threshold may be written as a TOML number; its shortest decimal is what was written.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a decimal such as 0.7, or a text such as \"2/3\""
    )]
    enum Written {
        Text(String),
        Integer(i64),
        Float(f64),
    }
    Ok(Some(match Written::deserialize(deserializer)? {
        Written::Text(text) => text,
        Written::Integer(number) => number.to_string(),
        Written::Float(number) => number.to_string(),
    }))
}

/// A whole number on the command line; a negative one is told what is allowed, too.
fn whole_number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u64>().ok();
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("it must be {}", Kind::WholeNumber))
}

/// What a setting may be in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Texts,
    WholeNumber,
    Number,
    Switch,
    /// A number, or a text that may be a ratio.
    Threshold,
}

impl Kind {
    /// Whether a value is of this kind.
    pub(crate) fn holds(self, value: &toml::Value) -> bool {
        match self {
            Self::Text => value.is_str(),
            Self::Texts => value
                .as_array()
                .is_some_and(|items| items.iter().all(toml::Value::is_str)),
            Self::WholeNumber => value.as_integer().is_some_and(|number| number >= 0),
            Self::Number => value.is_integer() || value.is_float(),
            Self::Switch => value.is_bool(),
            Self::Threshold => value.is_integer() || value.is_float() || value.is_str(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a text in quotes",
            Self::Texts => "a list of texts, such as [\"pages.jsonl\", \"more.csv\"]",
            Self::WholeNumber => "a whole number, 0 or more",
            Self::Number => "a number, such as 0.99",
            Self::Switch => "true or false",
            Self::Threshold => "a decimal such as 0.7, or a text such as \"2/3\"",
        })
    }
}

/// The settings as they are written in a file, each with what it may be.
pub(crate) fn kinds() -> Vec<(String, Kind)> {
    let command = Settings::augment_args(clap::Command::new("settings"));
    command
        .get_arguments()
        .map(|argument| {
            let name = argument.get_long().unwrap_or("inputs").to_owned();
            let is = |id: TypeId| argument.get_value_parser().type_id() == id;
            let kind = match () {
                () if matches!(argument.get_action(), ArgAction::Append) => Kind::Texts,
                () if name == "threshold" => Kind::Threshold,
                () if is(TypeId::of::<bool>()) => Kind::Switch,
                () if is(TypeId::of::<f64>()) => Kind::Number,
                () if is(TypeId::of::<usize>()) || is(TypeId::of::<u64>()) => Kind::WholeNumber,
                () => Kind::Text,
            };
            (name, kind)
        })
        .collect()
}
