//! `twinfold run`: files in, published relations out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use twinfold::fingerprint::{FingerprintBatch, FingerprintStores, Fingerprinter, SeenTexts};
use twinfold::labels::Labels;
use twinfold::pipeline::{self, Observer as _, Options, Stage};
use twinfold::sets::ShingleSets;
use twinfold::{DocId, Room, Storage};
use twinfold_io::publish::{
    Environment, InputEntry, Manifest, OutputFolder, Publication, Records, Relation, publish,
    renamed_columns,
};
use twinfold_io::source::{Batch, Input, ReadProgress, Spill, Table};
use twinfold_io::work::WorkFolder;

use crate::expect;
use crate::fault::Fault;
use crate::interrupt::Interrupts;
use crate::memory::{self, Memory, peak};
use crate::print;
use crate::progress::{Progress, Unit};
use crate::resolve::Resolved;
use crate::stages::{self, Stages};
use crate::summary::{LostMost, Summary, listing_name, notes};

/// The name and version that outputs carry.
pub(crate) const PROGRAM: &str = concat!("twinfold ", env!("CARGO_PKG_VERSION"));

/// What a command works with once everything that can be checked before reading has been.
pub(crate) struct Workplace {
    pub(crate) input: Input,
    pub(crate) pool: rayon::ThreadPool,
    pub(crate) folder: OutputFolder,
    pub(crate) progress: Arc<Progress>,
}

impl Workplace {
    /// Finds the input, starts the threads and claims the output folder.
    pub(crate) fn new(resolved: &Resolved, interrupts: &Interrupts) -> Result<Self, Fault> {
        let out = resolved
            .out
            .as_deref()
            // A script whose variable is unset does not mean the working folder.
            .filter(|out| !out.as_os_str().is_empty())
            .ok_or_else(|| Fault::new("no output folder was named").hint("add --out DIR"))?;
        let input = Input::open(resolved.source.clone())?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(resolved.threads)
            .build()
            .map_err(|error| {
                Fault::new(format!(
                    "cannot start {} threads: {error}",
                    resolved.threads
                ))
            })?;
        let progress = Arc::new(Progress::new(resolved.progress, resolved.quiet));
        let folder =
            interrupts.claim(&progress, || OutputFolder::claim(out, resolved.overwrite))?;
        check_inputs(&input, &folder)?;
        Ok(Self {
            input,
            pool,
            folder,
            progress,
        })
    }

    /// Reads all documents on all threads; `work` sees each batch.
    pub(crate) fn read<T: Send>(
        &self,
        resolved: &Resolved,
        work: &(dyn Fn(&Batch) -> T + Sync),
        spill: Option<&Spill<'_, T>>,
    ) -> Result<(Table, Vec<T>), Fault> {
        let bytes = Some(self.input.bytes()).filter(|&bytes| bytes > 0);
        self.progress.stage("read", Unit::Bytes, bytes);
        let progress = |step: ReadProgress| self.progress.add(step.bytes, step.documents);
        let (documents, results) = self.input.read(&self.pool, &progress, work, spill)?;
        check_read(&documents)?;
        check_rejected(resolved, &documents)?;
        check_size(&documents)?;
        Ok((documents, results))
    }
}

/// Runs what was resolved.
pub(crate) fn run(resolved: &Resolved, interrupts: &Interrupts) -> Result<(), Fault> {
    let memory = Memory::new(&resolved.memory)?;
    if let Some(out) = stages::finished(resolved) {
        return print_note(
            resolved,
            &format!(
                "the run had ended: the results in {} are complete",
                out.display()
            ),
        );
    }
    let workplace = Workplace::new(resolved, interrupts)?;
    let temporary = workplace.folder.staged("work");
    let (work, stages) = Stages::open(resolved, &workplace.input, temporary, interrupts)?;
    let result = work_in(resolved, workplace, memory, &work, stages);
    match result {
        Ok(()) => {
            work.finish();
            Ok(())
        }
        // What failed first says more than what followed from it.
        Err(fault) => {
            let fault = work.failure().map_or(fault, Fault::from);
            Err(match work.cleanup().abandon() {
                None => fault,
                Some((path, stage)) => fault.also(format!(
                    "{} holds the run up to its stage {stage}, to go on from with --resume",
                    path.display()
                )),
            })
        }
    }
}

fn work_in(
    resolved: &Resolved,
    workplace: Workplace,
    memory: Memory,
    work: &Arc<WorkFolder>,
    stages: Option<Arc<Stages>>,
) -> Result<(), Fault> {
    let storage: Arc<dyn Storage> = Arc::clone(work) as _;
    let (documents, batches, stores) = match &stages {
        Some(stages) if stages.last().is_some() => {
            let stage = stages.last().unwrap_or_default();
            workplace
                .progress
                .note(&format!("going on after the stage {stage}"));
            let (documents, batches, stores) = stages.restore()?;
            (documents, batches, Some(stores))
        }
        _ => {
            let read = read(resolved, &workplace, memory, &storage, stages.is_some())?;
            if let Some(stages) = &stages {
                stages.keep_read(&read.0, &read.1, resolved, &workplace.input)?;
            }
            read
        }
    };
    let Workplace {
        pool,
        folder,
        progress,
        ..
    } = workplace;
    progress.note(&memory.expect(&resolved.config, &documents, stores.is_some())?);
    let writing = memory.writing(stores.is_some());

    let room = Room {
        bytes: memory.room(),
        storage: Some(storage),
        checkpoint: stages.map(|stages| stages as _),
    };
    let outcome = pool.install(|| {
        progress.begin(Stage::Group, None);
        let sets = ShingleSets::bounded(
            &resolved.config,
            batches,
            stores.as_ref(),
            documents.len(),
            |document: DocId| documents.origin(document.index()),
            &room,
        );
        drop(stores);
        let options = Options {
            list_rejected: resolved.publish.contains(Relation::ScoredPairs),
            room,
        };
        pipeline::run(&resolved.config, &documents, sets, options, &*progress)
    })?;

    let records = Records {
        read: documents.read(),
        used: outcome.counts().documents,
        empty: outcome.counts().empty_documents,
        rejected: documents.rejected().len() as u64,
    };
    if let Some(path) = &resolved.expect {
        expect::check(path, &documents, &outcome, records)?;
    }

    let relations = resolved.publish.relations().len() as u64;
    progress.stage("publish", Unit::Files, Some(relations));
    let publication = Publication {
        documents: &documents,
        outcome: &outcome,
        memory: writing,
    };
    let mut files = pool.install(|| {
        publish(publication, &resolved.publish, &folder, &|_| {
            progress.add(1, 0)
        })
    })?;

    let sources = Labels::new(&documents, "source").map(|labels| labels.counts(&outcome));
    let stage_times = progress.finish();
    let peak_memory = peak();
    let manifest = Manifest {
        program: PROGRAM.into(),
        configuration: serde_json::to_value(resolved.configuration()).map_err(Fault::new)?,
        inputs: documents
            .file_hashes()
            .iter()
            .map(InputEntry::from)
            .collect(),
        source_classification: serde_json::json!({
            "kind": "files",
            "sources": sources.as_ref().map(|sources| {
                sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>()
            }),
        }),
        generator: outcome.generator().name(),
        guarantee: outcome.guarantee(),
        recall: outcome.recall().clone(),
        slots: outcome.slots().clone(),
        edges_listed: listing_name(outcome.listing()).into(),
        records,
        counts: outcome.counts().clone(),
        dates: outcome.keep_order().dates,
        notes: documents.notes(),
        renamed_columns: renamed_columns(&documents.column_names()),
        environment: Environment {
            engine: "local",
            kernels: twinfold::kernels().into_iter().collect(),
            threads: resolved.threads,
            memory: memory.bytes(),
            peak_memory,
            stage_times: stage_times.clone(),
            manifest_sha256: String::new(),
        },
        outputs: files.clone(),
    };
    let entry = manifest.write(&folder)?;
    work.announce(&entry.sha256)
        .map_err(|error| Fault::from(&error))?;
    let out = folder.path().to_owned();
    let mut names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
    names.push(entry.name.clone());
    folder.commit(&names)?;
    files.push(entry);

    let summary = Summary {
        program: PROGRAM.into(),
        records,
        counts: outcome.counts(),
        reduction_ratio: outcome.counts().reduction_ratio(),
        edges_listed: listing_name(outcome.listing()),
        generator: outcome.generator().name(),
        guarantee: outcome.guarantee(),
        recall: outcome.recall(),
        threshold: resolved.config.threshold.to_string(),
        dates: manifest.dates,
        sources_losing_most: LostMost::of(sources.as_deref().unwrap_or_default()),
        renamed_columns: &manifest.renamed_columns,
        stage_times: &stage_times,
        peak_memory,
        memory: memory.bytes(),
        least_direct_score: outcome
            .removed()
            .iter()
            .map(|r| r.score)
            .fold(1.0, f64::min),
        out: out.display().to_string(),
        files: &files,
        notes: [
            manifest.notes.clone(),
            notes(&resolved.config, resolved.target_recall, &outcome),
            memory.excess(peak_memory).into_iter().collect(),
        ]
        .concat(),
    };
    let text = match (resolved.json, resolved.quiet) {
        (true, _) => serde_json::to_string_pretty(&summary).map_err(Fault::new)? + "\n",
        (false, true) => return Ok(()),
        (false, false) => summary.text(),
    };
    print_summary(&text, &out)
}

/// Says something that is no result.
fn print_note(resolved: &Resolved, text: &str) -> Result<(), Fault> {
    if !resolved.quiet {
        eprintln!("{text}");
    }
    Ok(())
}

/// Prints what was found, once it is in the output folder: whoever reads only the summary must not
/// take its loss for success.
pub(crate) fn print_summary(text: &str, out: &Path) -> Result<(), Fault> {
    print(text).map_err(|fault| {
        fault.hint(format!(
            "the results in {} are complete; the manifest holds what the summary says",
            out.display()
        ))
    })
}

/// Reads the documents, and fingerprints them while they are read. With what memory has no room for
/// come the stores that it is in; with `all`, everything goes there.
fn read(
    resolved: &Resolved,
    workplace: &Workplace,
    memory: Memory,
    storage: &Arc<dyn Storage>,
    all: bool,
) -> Result<(Table, Vec<FingerprintBatch>, Option<FingerprintStores>), Fault> {
    let stores: OnceLock<FingerprintStores> = OnceLock::new();
    let spilled = || {
        stores.get_or_init(|| {
            twinfold::return_large_blocks();
            FingerprintStores::new(&**storage)
        })
    };
    if all {
        spilled();
    }
    let per_document = memory::per_document(&resolved.config);
    let spill = Spill {
        storage: Arc::clone(storage),
        limit: if all {
            0
        } else {
            memory.held(&resolved.config)
        },
        most_text: memory.text(&resolved.config, &resolved.publish),
        most_kept: memory.kept(),
        per_document,
        most_in_flight: memory.readers(&resolved.config, resolved.threads),
        held: &|batch: &FingerprintBatch| batch.held_bytes() + batch.len() as u64 * per_document,
        spill: &|batch| batch.spill(spilled()),
    };
    let seen = SeenTexts::new();
    let fingerprinter = Fingerprinter::new(&resolved.config);
    let work = |batch: &Batch| fingerprinter.batch(batch.texts(), &seen);
    let (documents, batches) = workplace.read(resolved, &work, Some(&spill))?;
    Ok((documents, batches, stores.into_inner()))
}

/// A run never removes what it reads.
fn check_inputs(input: &Input, folder: &OutputFolder) -> Result<(), Fault> {
    let replaced = |path: &PathBuf| folder.replaces(path);
    match input
        .files()
        .iter()
        .find(|file| file.path.as_ref().is_some_and(replaced))
    {
        None => Ok(()),
        Some(file) => Err(Fault::new(format!(
            "the input {} is a file of the earlier run that --overwrite replaces",
            file.name
        ))
        .hint("choose another --out, or move the file out of the output folder")),
    }
}

/// A run on nothing at all is a slip; files of which at least the columns are known may be empty.
fn check_read(documents: &Table) -> Result<(), Fault> {
    let files = documents.file_hashes();
    match files.first() {
        Some(first) if documents.read() == 0 && documents.column_names().is_empty() => {
            let what = match files.len() {
                1 => format!("there is no record in {first}"),
                count => {
                    format!("there is no record in any of the {count} inputs; the first is {first}")
                }
            };
            Err(Fault::new(what).hint("check the inputs, and whether what writes them has failed"))
        }
        _ => Ok(()),
    }
}

fn check_rejected(resolved: &Resolved, documents: &Table) -> Result<(), Fault> {
    let rejected = documents.rejected();
    match rejected.first() {
        Some(first) if documents.is_empty() => Err(Fault::new(format!(
            "{} in {}, {}: {}",
            match rejected.len() {
                1 => "the only record cannot be used; it is".to_owned(),
                many => format!("none of the {many} records can be used; the first is"),
            },
            first.file,
            first.place,
            first.reason
        ))
        .hint("mend the input, or name other columns with --id-column and --text-column")),
        Some(first) if resolved.strict => Err(Fault::new(format!(
            "{}, {}: {} ({})",
            first.file,
            first.place,
            first.reason,
            match rejected.len() {
                1 => "the only record that cannot be used".to_owned(),
                many => format!("the first of {many} records that cannot be used"),
            }
        ))
        .hint("mend the input, or leave out --strict to set such records aside")),
        _ => Ok(()),
    }
}

fn check_size(documents: &Table) -> Result<(), Fault> {
    if documents.len() >= u32::MAX as usize {
        let documents = documents.len() as u64;
        return Err(twinfold::Error::TooManyDocuments { documents }.into());
    }
    Ok(())
}
