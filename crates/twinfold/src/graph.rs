//! The graph of documents: connected components, or stars around representatives.
//!
//! Cost: union-find by size with path halving, so near-linear in edges; no step looks at pairs of
//! members.

/// Disjoint sets over `0..len`.
#[derive(Clone, Debug)]
pub struct UnionFind {
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl UnionFind {
    /// `len` sets of one element.
    pub fn new(len: usize) -> Self {
        Self {
            parents: (0..len as u32).collect(),
            sizes: vec![1; len],
        }
    }

    /// The element that stands for the set of `element`.
    pub fn find(&mut self, mut element: u32) -> u32 {
        while self.parents[element as usize] != element {
            let grandparent = self.parents[self.parents[element as usize] as usize];
            self.parents[element as usize] = grandparent;
            element = grandparent;
        }
        element
    }

    /// As [`UnionFind::find`], for many readers at once: paths stay as long as they are, which is
    /// logarithmic.
    pub fn find_frozen(&self, mut element: u32) -> u32 {
        while self.parents[element as usize] != element {
            element = self.parents[element as usize];
        }
        element
    }

    /// Joins two sets; whether they were apart.
    pub fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        let (large, small) = if self.sizes[a as usize] >= self.sizes[b as usize] {
            (a, b)
        } else {
            (b, a)
        };
        self.parents[small as usize] = large;
        self.sizes[large as usize] += self.sizes[small as usize];
        true
    }

    /// The sets, as groups in the order of their smallest element.
    pub fn into_groups(mut self) -> Groups {
        const NONE: u32 = u32::MAX;
        let len = self.parents.len();
        let mut group_of_root = vec![NONE; len];
        let mut groups = 0;
        let of = (0..len as u32)
            .map(|element| {
                let root = self.find(element) as usize;
                if group_of_root[root] == NONE {
                    group_of_root[root] = groups;
                    groups += 1;
                }
                group_of_root[root]
            })
            .collect();
        Groups::new(of, groups as usize)
    }
}

/// A partition of `0..len`: groups in the order of their smallest element, elements ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    of: Vec<u32>,
    starts: Vec<u32>,
    elements: Vec<u32>,
}

impl Groups {
    /// From the group of each element; groups must be numbered in the order of their smallest
    /// element.
    pub(crate) fn new(of: Vec<u32>, groups: usize) -> Self {
        let mut starts = vec![0u32; groups + 1];
        for &group in &of {
            starts[group as usize + 1] += 1;
        }
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut elements = vec![0; of.len()];
        for (element, &group) in (0u32..).zip(&of) {
            elements[next[group as usize] as usize] = element;
            next[group as usize] += 1;
        }
        Self {
            of,
            starts,
            elements,
        }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The group of an element.
    pub fn of(&self, element: u32) -> u32 {
        self.of[element as usize]
    }

    /// The elements of a group, ascending.
    pub fn elements(&self, group: u32) -> &[u32] {
        let group = group as usize;
        &self.elements[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Every group's elements.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len() as u32).map(|group| self.elements(group))
    }
}

/// Splits components into stars. In each component the best element by `order` takes all its
/// remaining `neighbours`, then the best of the rest, and so on.
///
/// Cost: one visit to the neighbours of each centre, so linear in edges.
pub fn stars(
    components: &Groups,
    order: &[u32],
    mut neighbours: impl FnMut(u32, &mut dyn FnMut(u32)),
) -> Groups {
    const NONE: u32 = u32::MAX;
    let len = components.of.len();
    let mut centre_of = vec![NONE; len];
    let mut members: Vec<u32> = Vec::new();
    for component in components.iter() {
        members.clear();
        members.extend_from_slice(component);
        members.sort_unstable_by_key(|&member| order[member as usize]);
        for &centre in &members {
            if centre_of[centre as usize] != NONE {
                continue;
            }
            centre_of[centre as usize] = centre;
            if component.len() > 1 {
                neighbours(centre, &mut |neighbour| {
                    if centre_of[neighbour as usize] == NONE {
                        centre_of[neighbour as usize] = centre;
                    }
                });
            }
        }
    }
    let mut number_of = vec![NONE; len];
    let mut groups = 0;
    let of = centre_of
        .iter()
        .map(|&centre| {
            let number = &mut number_of[centre as usize];
            if *number == NONE {
                *number = groups;
                groups += 1;
            }
            *number
        })
        .collect();
    Groups::new(of, groups as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn components(len: usize, edges: &[(u32, u32)]) -> Groups {
        let mut sets = UnionFind::new(len);
        for &(a, b) in edges {
            sets.union(a, b);
        }
        sets.into_groups()
    }

    #[test]
    fn a_shuffled_path_a_star_and_a_clique_are_one_component_each() {
        let n = 10_000u32;
        // Multiplication by an odd number below a power of two would do; a prime step does here.
        let shuffled = |i: u32| (u64::from(i) * 7919 % u64::from(n)) as u32;
        let path: Vec<_> = (1..n).map(|i| (shuffled(i - 1), shuffled(i))).collect();
        let star: Vec<_> = (1..n).map(|i| (n - 1, i - 1)).collect();
        let clique: Vec<_> = (0..1000)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .collect();
        assert_eq!(components(n as usize, &path).len(), 1);
        assert_eq!(components(n as usize, &star).len(), 1);
        assert_eq!(components(1000, &clique).len(), 1);
    }

    #[test]
    fn two_edges_of_four_make_two_clusters() {
        let groups = components(4, &[(0, 2), (1, 3)]);
        assert_eq!(groups.iter().collect::<Vec<_>>(), [&[0, 2], &[1, 3]]);
    }

    #[test]
    fn stars_split_a_chain() {
        let edges = [(0, 1), (1, 2), (2, 3)];
        let chain = components(4, &edges);
        let split = stars(&chain, &[0, 1, 2, 3], |centre, visit| {
            for (a, b) in edges {
                if a == centre {
                    visit(b);
                }
                if b == centre {
                    visit(a);
                }
            }
        });
        assert_eq!(split.iter().collect::<Vec<_>>(), [&[0, 1], &[2, 3]]);
    }

    proptest! {
        #[test]
        fn components_equal_a_search(edges in prop::collection::vec((0u32..40, 0u32..40), 0..60)) {
            let groups = components(40, &edges);
            let mut label: Vec<u32> = (0..40).collect();
            for _ in 0..40 {
                for &(a, b) in &edges {
                    let least = label[a as usize].min(label[b as usize]);
                    label[a as usize] = least;
                    label[b as usize] = least;
                }
            }
            for a in 0..40 {
                for b in 0..40 {
                    prop_assert_eq!(groups.of(a) == groups.of(b), label[a as usize] == label[b as usize]);
                }
            }
            let firsts: Vec<u32> = groups.iter().map(|group| group[0]).collect();
            prop_assert!(firsts.is_sorted());
        }
    }
}
