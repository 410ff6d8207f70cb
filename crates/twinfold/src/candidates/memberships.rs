//! The keys of each class: a relation of (class, key) rows.

/// The keys of each class, and how two classes' keys are compared.
#[derive(Clone, Debug)]
pub struct Memberships {
    starts: Vec<usize>,
    keys: Vec<u64>,
    layout: Layout,
}

/// How the keys of one class lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Key `i` of one class can only equal key `i` of another.
    Aligned,
    /// Ascending and distinct.
    Sorted,
}

impl Memberships {
    /// Keys that come in the same number and order for every class.
    pub(crate) fn aligned(classes: usize, keys: Vec<u64>) -> Self {
        let width = keys.len().checked_div(classes).unwrap_or(0);
        Self {
            starts: (0..=classes).map(|class| class * width).collect(),
            keys,
            layout: Layout::Aligned,
        }
    }

    /// Any keys of each class.
    pub(crate) fn sorted(keys_of_classes: impl Iterator<Item = Vec<u64>>) -> Self {
        let (mut starts, mut keys) = (vec![0], Vec::new());
        for mut class_keys in keys_of_classes {
            class_keys.sort_unstable();
            class_keys.dedup();
            keys.append(&mut class_keys);
            starts.push(keys.len());
        }
        Self {
            starts,
            keys,
            layout: Layout::Sorted,
        }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys of a class.
    pub fn keys(&self, class: u32) -> &[u64] {
        let class = class as usize;
        &self.keys[self.starts[class]..self.starts[class + 1]]
    }

    /// The number of keys that two classes share.
    pub fn shared(&self, a: u32, b: u32) -> usize {
        let (a, b) = (self.keys(a), self.keys(b));
        match self.layout {
            Layout::Aligned => a.iter().zip(b).filter(|(a, b)| a == b).count(),
            Layout::Sorted => twinfold_kernels::intersection_size(a, b),
        }
    }

    /// Whether `key` is the first that the two classes share. A pair that shares several keys is
    /// looked at under the first only, so that no pair is scored twice and none has to be
    /// remembered.
    pub(crate) fn is_first_shared(&self, a: u32, b: u32, key: u64) -> bool {
        let (a, b) = (self.keys(a), self.keys(b));
        match self.layout {
            Layout::Aligned => a
                .iter()
                .zip(b)
                .find(|(a, b)| a == b)
                .is_some_and(|(a, _)| *a == key),
            Layout::Sorted => {
                let (mut i, mut j) = (0, 0);
                while i < a.len() && j < b.len() {
                    if a[i] == b[j] {
                        return a[i] == key;
                    }
                    let (x, y) = (a[i], b[j]);
                    i += usize::from(x < y);
                    j += usize::from(y < x);
                }
                false
            }
        }
    }
}
