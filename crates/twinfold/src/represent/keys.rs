//! From the values of a column to numbers whose order is a criterion's.

use std::collections::HashMap;

use super::time::parse_time;
use super::{CRAWLED_AT, Criterion, DateCounts};
use crate::document::Value;

/// The key of a missing value: after every other.
const MISSING: u64 = u64::MAX;

impl Criterion {
    /// A number for each document whose order is the criterion's.
    pub(super) fn keys(&self, values: &[Value], dates: &mut Option<DateCounts>) -> Vec<u64> {
        let keys: Vec<Option<u64>> = match &self.values {
            Some(list) => {
                let places: HashMap<&str, u64> = list
                    .iter()
                    .rev()
                    .map(|v| v.as_str())
                    .zip((0..list.len() as u64).rev())
                    .collect();
                let key = |value: &Value| match value {
                    Value::Null => None,
                    Value::Text(text) => places.get(text.as_str()).copied(),
                    Value::Integer(number) => places.get(number.to_string().as_str()).copied(),
                    Value::Float(number) => places.get(number.to_string().as_str()).copied(),
                    Value::Time(_) => None,
                };
                values.iter().map(key).collect()
            }
            None if self.column == CRAWLED_AT => {
                let counts = dates.insert(DateCounts::default());
                values
                    .iter()
                    .map(|value| {
                        let key = time_of(value);
                        let blank = match value {
                            Value::Null => true,
                            Value::Text(text) => text.trim().is_empty(),
                            _ => false,
                        };
                        match key {
                            None if blank => counts.missing += 1,
                            None => counts.unreadable += 1,
                            Some(_) => {}
                        }
                        key.map(ordered_integer)
                    })
                    .collect()
            }
            None => natural_keys(values),
        };
        keys.into_iter()
            .map(|key| match key {
                None => MISSING,
                Some(key) if self.descending => (MISSING - 1).saturating_sub(key),
                Some(key) => key.min(MISSING - 1),
            })
            .collect()
    }
}

/// Numbers as numbers, dates as dates, anything else by its bytes; decided over the whole column.
fn natural_keys(values: &[Value]) -> Vec<Option<u64>> {
    let present = || {
        values.iter().filter(|value| match value {
            Value::Null => false,
            // What is not a number is missing from a column of numbers.
            Value::Float(number) => !number.is_nan(),
            Value::Text(text) => {
                let text = text.trim();
                !text.is_empty() && !text.eq_ignore_ascii_case("nan")
            }
            _ => true,
        })
    };
    let integer = |value: &Value| match value {
        Value::Integer(number) => Some(ordered_integer(*number)),
        Value::Text(text) => text.trim().parse().ok().map(ordered_integer),
        _ => None,
    };
    if present().all(|value| integer(value).is_some()) {
        return values.iter().map(integer).collect();
    }
    if present().all(|value| number_of(value).is_some()) {
        return values.iter().map(number_of).collect();
    }
    if present().all(|value| time_of(value).is_some()) {
        return values
            .iter()
            .map(|value| time_of(value).map(ordered_integer))
            .collect();
    }
    let texts: Vec<Option<String>> = values
        .iter()
        .map(|value| match value {
            Value::Null => None,
            Value::Text(text) if text.trim().is_empty() => None,
            Value::Text(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Time(micros) => Some(micros.to_string()),
        })
        .collect();
    let mut distinct: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    distinct.sort_unstable();
    distinct.dedup();
    texts
        .iter()
        .map(|text| {
            text.as_deref()
                .and_then(|t| distinct.binary_search(&t).ok())
                .map(|p| p as u64)
        })
        .collect()
}

fn number_of(value: &Value) -> Option<u64> {
    match value {
        // Among floats, an integer past 2^53 is rounded like one.
        Value::Integer(number) => ordered_float(*number as f64),
        Value::Float(number) => ordered_float(*number),
        Value::Text(text) => text.trim().parse().ok().and_then(ordered_float),
        _ => None,
    }
}

fn ordered_float(number: f64) -> Option<u64> {
    if number.is_nan() {
        return None;
    }
    // Positive zero for both zeros.
    let bits = (number + 0.0).to_bits() as i64;
    let ordered = if bits < 0 { !bits } else { bits | i64::MIN };
    Some(ordered as u64)
}

fn ordered_integer(number: i64) -> u64 {
    (number as u64) ^ (1 << 63)
}

fn time_of(value: &Value) -> Option<i64> {
    match value {
        Value::Time(micros) => Some(*micros),
        Value::Text(text) => parse_time(text.trim()),
        Value::Integer(number) => parse_time(&number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn float_keys_keep_the_order(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let (x, y) = (ordered_float(a).unwrap(), ordered_float(b).unwrap());
            prop_assert_eq!(a.partial_cmp(&b), Some(x.cmp(&y)));
        }
    }
}
