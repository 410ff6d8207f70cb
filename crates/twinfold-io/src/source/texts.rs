//! The values of a string column that stay in memory when the rest of a batch goes to disk.
//!
//! Cost of packed values: 4 bytes and the text for each row or, where at least every other value is a
//! repeat, 2 bytes for each row and 4 bytes and the text for each distinct value.

use std::collections::HashMap;

use arrow_array::{Array, StringViewArray};

/// A column of strings.
#[derive(Clone, Debug)]
pub(super) enum Texts {
    /// As they were decoded.
    Views(StringViewArray),
    /// A copy that shares nothing with the batch.
    Packed(Packed),
}

/// Strings one after another.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    text: Box<str>,
    /// Where each value ends in `text`.
    ends: Box<[u32]>,
    /// For each row its value, or [`NONE`]; without it, each row has the value of its number.
    codes: Option<Box<[u16]>>,
    rows: usize,
}

/// The code of a null.
const NONE: u16 = u16::MAX;

impl From<StringViewArray> for Texts {
    fn from(array: StringViewArray) -> Self {
        Self::Views(array)
    }
}

impl Texts {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Views(array) => array.len(),
            Self::Packed(packed) => packed.rows,
        }
    }

    /// The bytes that packed ones take.
    pub(super) fn kept(&self) -> u64 {
        match self {
            Self::Views(_) => 0,
            Self::Packed(packed) => {
                let codes = packed.codes.as_ref().map_or(0, |codes| codes.len());
                (packed.text.len() + 4 * packed.ends.len() + 2 * codes) as u64
            }
        }
    }

    /// A value, `None` when null.
    pub(super) fn value(&self, row: usize) -> Option<&str> {
        match self {
            Self::Views(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Packed(packed) => packed.value(row),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.value(row))
    }

    /// The values as an array.
    pub(super) fn array(&self) -> StringViewArray {
        match self {
            Self::Views(array) => array.clone(),
            Self::Packed(_) => self.iter().collect(),
        }
    }

    /// The same values in little room.
    pub(super) fn packed(&self) -> Self {
        match self {
            Self::Packed(_) => self.clone(),
            Self::Views(array) => {
                Packed::new(array).map_or_else(|| Self::Views(array.gc()), Self::Packed)
            }
        }
    }
}

impl Packed {
    /// `None` where there are more bytes or rows than can be numbered.
    fn new(array: &StringViewArray) -> Option<Self> {
        let mut codes: Vec<u16> = Vec::with_capacity(array.len());
        let mut distinct: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, u16> = HashMap::new();
        let few = array.len().min(usize::from(NONE)) / 2;
        let repeated = array.null_count() > 0 || distinct_within(array, few);
        if repeated {
            for value in array {
                codes.push(match value {
                    None => NONE,
                    Some(value) => *known.entry(value).or_insert_with(|| {
                        distinct.push(value);
                        // Wrong beyond what fits, which is refused below.
                        (distinct.len() - 1) as u16
                    }),
                });
            }
            if distinct.len() > usize::from(NONE) {
                return None;
            }
        } else {
            distinct.extend(array.iter().flatten());
        }
        let mut ends = Vec::with_capacity(distinct.len());
        let mut text = String::with_capacity(distinct.iter().map(|value| value.len()).sum());
        for value in distinct {
            text.push_str(value);
            ends.push(u32::try_from(text.len()).ok()?);
        }
        Some(Self {
            text: text.into(),
            ends: ends.into(),
            codes: repeated.then(|| codes.into()),
            rows: array.len(),
        })
    }

    /// The text, the ends, the codes and the number of rows.
    pub(super) fn parts(&self) -> (&str, &[u32], Option<&[u16]>, usize) {
        (&self.text, &self.ends, self.codes.as_deref(), self.rows)
    }

    /// What [`Packed::parts`] gave; `None` if it can't have.
    pub(super) fn from_parts(
        text: &str,
        ends: Box<[u32]>,
        codes: Option<Box<[u16]>>,
        rows: usize,
    ) -> Option<Self> {
        let whole = ends.last().map_or(0, |&end| end as usize) == text.len()
            && ends.is_sorted()
            && ends.iter().all(|&end| text.is_char_boundary(end as usize));
        let known = |&code: &u16| code == NONE || usize::from(code) < ends.len();
        let coded = match &codes {
            Some(codes) => codes.len() == rows && codes.iter().all(known),
            None => ends.len() == rows,
        };
        (whole && coded).then(|| Self {
            text: text.into(),
            ends,
            codes,
            rows,
        })
    }

    fn value(&self, row: usize) -> Option<&str> {
        let at = match &self.codes {
            Some(codes) => Some(codes[row]).filter(|&code| code != NONE)?.into(),
            None => row,
        };
        let start = if at == 0 {
            0
        } else {
            self.ends[at - 1] as usize
        };
        Some(&self.text[start..self.ends[at] as usize])
    }
}

/// Whether there are at most so many distinct values.
fn distinct_within(array: &StringViewArray, most: usize) -> bool {
    let mut known = std::collections::HashSet::new();
    array
        .iter()
        .flatten()
        .all(|value| known.contains(value) || known.insert(value) && known.len() <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_values_are_the_same(
            values in prop::collection::vec(prop::option::weighted(0.8, "[a-cä]{0,20}"), 0..60),
            nulls in any::<bool>(),
        ) {
            let values: Vec<Option<String>> = values
                .into_iter()
                .map(|value| if nulls { value } else { Some(value.unwrap_or_default()) })
                .collect();
            let array: StringViewArray = values.iter().map(Option::as_deref).collect();
            let texts = Texts::from(array).packed();
            prop_assert!(matches!(texts, Texts::Packed(_)));
            prop_assert_eq!(texts.len(), values.len());
            prop_assert!(texts.iter().eq(values.iter().map(Option::as_deref)));
        }
    }
}
