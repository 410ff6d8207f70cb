//! Whole corpora, one for each kind of difficulty, small enough for the oracle.
//!
//! Ids are scattered, so that what belongs together is nowhere near each other in rank. Every
//! document has a `title`, a `topic` to block by (empty for some) and a `domain`.

use twinfold::document::{Corpus, Document};

use super::{Script, chain, near_copy, page, pair_at, scripts, template_family};
use crate::random::{FreshWords, Random, scramble, word};

/// A corpus and what it is hard for.
#[derive(Clone, Debug)]
pub struct PlantedCorpus {
    /// What is in it.
    pub name: &'static str,
    /// The documents, in no order.
    pub documents: Vec<Document>,
}

impl PlantedCorpus {
    /// The documents, ranked.
    pub fn corpus(&self) -> Corpus {
        Corpus::new(self.documents.clone()).expect("the builder's ids are unique")
    }
}

/// Puts texts together, giving each an id and columns.
#[derive(Debug)]
pub struct Builder {
    corpus: PlantedCorpus,
    random: Random,
    words: FreshWords,
}

impl Builder {
    /// An empty corpus; what is added to it is drawn from the seed.
    pub fn new(name: &'static str, seed: u64) -> Self {
        Self {
            corpus: PlantedCorpus {
                name,
                documents: Vec::new(),
            },
            random: Random::new(seed),
            words: FreshWords::new(seed),
        }
    }

    /// Adds texts that belong together: they share a topic, and most of a title.
    pub fn related(&mut self, texts: impl IntoIterator<Item = impl Into<String>>) {
        let topic = ["rivers", "trains", "birds", ""][self.random.below(4)];
        let title = self.words.words(3).join(" ");
        for text in texts {
            let id = format!("{:016x}", scramble(self.corpus.documents.len() as u64 + 1));
            let stray = self.random.below(5) == 0;
            let edition = if stray { " reprinted" } else { "" };
            self.corpus.documents.push(
                Document::new(id, text)
                    .with("title", format!("{title}{edition}"))
                    .with("topic", if stray { "strays" } else { topic })
                    .with("domain", *self.random.pick(&["a.example", "b.example"])),
            );
        }
    }

    /// Adds unrelated texts of fresh words.
    pub fn unrelated(&mut self, count: usize, words: usize) {
        for _ in 0..count {
            let text = self.words.words(words).join(" ");
            self.related([text]);
        }
    }

    /// The corpus.
    pub fn finish(self) -> PlantedCorpus {
        self.corpus
    }
}

/// All corpora that the contract is checked on.
pub fn all_corpora() -> Vec<PlantedCorpus> {
    vec![
        nothing(),
        single(),
        no_duplicates(),
        planted_pairs(),
        copies(),
        chains_and_families(),
        short_and_empty(),
        skewed(),
        many_scripts(),
        compatibility_forms(),
        numbers(),
    ]
}

/// No document.
pub fn nothing() -> PlantedCorpus {
    Builder::new("nothing", 1).finish()
}

/// One document.
pub fn single() -> PlantedCorpus {
    let mut builder = Builder::new("single", 2);
    builder.unrelated(1, 40);
    builder.finish()
}

/// Unrelated documents.
pub fn no_duplicates() -> PlantedCorpus {
    let mut builder = Builder::new("no duplicates", 3);
    builder.unrelated(60, 70);
    builder.finish()
}

/// Pairs on both sides of the usual thresholds, exactly at some of them.
pub fn planted_pairs() -> PlantedCorpus {
    let mut builder = Builder::new("planted pairs", 4);
    for percent in [40, 55, 65, 69, 70, 71, 75, 80, 85, 90, 95, 99] {
        for _ in 0..6 {
            let pair = pair_at(&mut builder.words, percent, 100, 60);
            builder.related([pair.left, pair.right]);
        }
    }
    builder.finish()
}

/// Identical pages, some differing in case or white space only, and near-copies of one page.
pub fn copies() -> PlantedCorpus {
    let mut builder = Builder::new("copies", 5);
    let text = builder.words.words(80).join(" ");
    builder.related(vec![text.clone(); 12]);
    builder.related([
        text.to_uppercase(),
        text.replace(' ', "  "),
        format!("{text}."),
    ]);
    let page = builder.words.words(150).join(" ");
    let near: Vec<String> = (0..30)
        .map(|_| near_copy(&page, &mut builder.random, &mut builder.words))
        .collect();
    builder.related(near);
    builder.related([page.clone(), page]);
    builder.unrelated(20, 60);
    builder.finish()
}

/// Chains whose ends have nothing in common, and families of one template below the threshold.
pub fn chains_and_families() -> PlantedCorpus {
    let mut builder = Builder::new("chains and families", 6);
    for links in [3, 8, 25] {
        let texts = chain(&mut builder.words, links, 60, 6);
        builder.related(texts);
    }
    let below = template_family(&mut builder.words, 25, 40, 12);
    builder.related(below);
    let above = template_family(&mut builder.words, 12, 50, 5);
    builder.related(above);
    builder.finish()
}

/// Texts shorter than a shingle, and texts without any.
pub fn short_and_empty() -> PlantedCorpus {
    let mut builder = Builder::new("short and empty", 7);
    builder.related(["cat", "dog", "cat", "Cat.", "red cat", "red dog", "x"]);
    builder.related(["one two three four", "one two three four five", "two"]);
    builder.related([
        "",
        "",
        " \t\n",
        "!!!",
        "!!!",
        "...",
        "👍",
        "👍🏽🎉",
        "\u{200b}",
    ]);
    builder.unrelated(10, 30);
    builder.finish()
}

/// Few words, some far more frequent than others, so that shingles repeat within and across texts.
pub fn skewed() -> PlantedCorpus {
    let mut builder = Builder::new("skewed", 8);
    for _ in 0..110 {
        let length = 3 + builder.random.below(40);
        let text: Vec<String> = (0..length)
            .map(|_| {
                let most = 1 + builder.random.below(6);
                word(builder.random.below(most) as u64 * 86)
            })
            .collect();
        builder.related([text.join(" ")]);
    }
    builder.finish()
}

/// Long pages in seven scripts, each with a near-copy, beside unrelated short sentences.
pub fn many_scripts() -> PlantedCorpus {
    let mut builder = Builder::new("many scripts", 9);
    for script in Script::ALL {
        for _ in 0..4 {
            let phrases = scripts::phrases(script, &mut builder.random, 150);
            let mut changed = phrases.clone();
            changed[builder.random.below(150)] = script.stranger();
            builder.related([page(script, &phrases), page(script, &changed)]);
        }
        builder.related(scripts::sentences(script));
    }
    builder.finish()
}

/// Texts that NFKC makes the same and a tokeniser may not.
pub fn compatibility_forms() -> PlantedCorpus {
    let mut builder = Builder::new("compatibility forms", 10);
    builder.related(["fi", "ﬁ", "ﬁ", "Ｆｉ", "file ①", "file 1", "㎏", "kg", "kg"]);
    let long = builder.words.words(60).join(" ");
    builder.related([
        format!("{long} office ½"),
        format!("{long} oﬃce ½"),
        format!("{long} oﬃce 1⁄2"),
        format!("{long} office 1⁄2"),
        format!("{long} ｏｆｆｉｃｅ 1⁄2"),
        format!("{long} café"),
        format!("{long} cafe\u{301}"),
        format!("\u{feff}{long} ca\u{ad}fé"),
        format!("{long} page ①"),
        format!("{long} page 1"),
        format!("{long} page 2"),
    ]);
    builder.unrelated(8, 40);
    builder.finish()
}

/// Pages that differ in numbers, and pages that do not.
pub fn numbers() -> PlantedCorpus {
    let mut builder = Builder::new("numbers", 11);
    for _ in 0..4 {
        let before = builder.words.words(30).join(" ");
        let after = builder.words.words(30).join(" ");
        let texts: Vec<String> = (0..6)
            .map(|n| format!("{before} {} {after}", 10 + n / 2))
            .chain([format!("{before} ten {after}")])
            .chain([format!("{before} 10 {after} indeed")])
            .collect();
        builder.related(texts);
    }
    builder.unrelated(10, 40);
    builder.finish()
}
