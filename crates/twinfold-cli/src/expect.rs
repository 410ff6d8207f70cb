//! `--expect`: results that were written down before, which a run has to meet.

use std::path::Path;

use serde_json::{Value, json};
use twinfold::Outcome;
use twinfold_io::publish::Records;
use twinfold_io::source::Table;

use crate::fault::Fault;
use crate::words::counted;

/// What can be expected of a run.
fn actual(documents: &Table, outcome: &Outcome, records: Records) -> Value {
    let mut kept: Vec<usize> = (0..outcome.clusters().len() as u32)
        .map(|cluster| outcome.kept(cluster).index())
        .collect();
    kept.sort_unstable();
    json!({
        "records": records,
        "counts": outcome.counts(),
        "reduction_ratio": outcome.counts().reduction_ratio(),
        "recall": outcome.recall(),
        "generator": outcome.generator().name(),
        "kept_doc_ids": kept.into_iter().map(|rank| documents.id(rank)).collect::<Vec<_>>(),
    })
}

/// Compares a run with what the file `path` expects. The file may leave out whatever it likes.
pub(crate) fn check(
    path: &Path,
    documents: &Table,
    outcome: &Outcome,
    records: Records,
) -> Result<(), Fault> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::new(format!("cannot read the expectations in {shown}: {error}")))?;
    let expected: Value = serde_json::from_str(&text).map_err(|error| {
        Fault::new(format!("the expectations in {shown} are not JSON: {error}"))
    })?;
    let mut differences = Vec::new();
    compare(
        "",
        &expected,
        &actual(documents, outcome, records),
        &mut differences,
    );
    match differences.len() {
        0 => Ok(()),
        count => Err(Fault::new(format!(
            "{} not what {shown} expects: {}",
            counted(count as u64, "result is", "results are"),
            differences[..count.min(5)].join("; ")
        ))
        .hint("nothing was written; mend the input or the settings, or the expectations")),
    }
}

fn compare(place: &str, expected: &Value, actual: &Value, differences: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(fields), Value::Object(found)) => {
            for (key, value) in fields {
                let place = if place.is_empty() {
                    key.clone()
                } else {
                    format!("{place}.{key}")
                };
                match found.get(key) {
                    Some(found) => compare(&place, value, found, differences),
                    None => differences.push(format!("{place} is not a result of a run")),
                }
            }
        }
        (Value::Number(a), Value::Number(b)) if close(a.as_f64(), b.as_f64()) => {}
        (Value::Array(a), Value::Array(b)) if a != b => {
            let missing = a.iter().find(|item| !b.contains(item));
            let surplus = b.iter().find(|item| !a.contains(item));
            let show =
                |item: Option<&Value>| item.map_or_else(|| "nothing".into(), Value::to_string);
            differences.push(format!(
                "{place}: {} is missing, {} is not expected",
                show(missing),
                show(surplus)
            ));
        }
        _ if expected == actual => {}
        _ => differences.push(format!("{place} is {actual}, not {expected}")),
    }
}

/// Whether two numbers are the same but for the last digits of a decimal.
fn close(a: Option<f64>, b: Option<f64>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if (a - b).abs() <= 1e-12 * a.abs().max(b.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(expected: Value, actual: Value) -> Vec<String> {
        let mut differences = Vec::new();
        compare("", &expected, &actual, &mut differences);
        differences
    }

    #[test]
    fn only_what_is_written_counts() {
        let actual = json!({"counts": {"kept": 12, "removed": 12}, "kept_doc_ids": ["a", "b"]});
        assert!(differences(json!({}), actual.clone()).is_empty());
        assert!(differences(json!({"counts": {"kept": 12.0}}), actual.clone()).is_empty());
        assert_eq!(
            differences(json!({"counts": {"kept": 13}}), actual.clone()),
            ["counts.kept is 12, not 13"]
        );
        assert_eq!(differences(json!({"count": 1}), actual.clone()).len(), 1);
        let ids = differences(json!({"kept_doc_ids": ["a", "c"]}), actual);
        assert_eq!(
            ids,
            ["kept_doc_ids: \"c\" is missing, \"b\" is not expected"]
        );
    }
}
