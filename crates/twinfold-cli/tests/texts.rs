//! The same page in every script and spelling, through the command, in every format.
//!
//! Scripts without spaces or with vowel signs are told apart and found again, and what a reader takes
//! for the same text is the same.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::corpus::Numbers;
use common::texts::{clusters, ids};

/// Sentences that have nothing to do with each other, by script.
const SCRIPTS: [(&str, [&str; 3]); 8] = [
    (
        "zh",
        [
            "今天天气很好我们去公园散步吧",
            "图书馆里有许多关于历史的书籍",
            "他每天早上都会喝一杯热咖啡",
        ],
    ),
    (
        "ja",
        [
            "今日はとても良い天気ですね",
            "図書館には歴史の本がたくさんある",
            "彼は毎朝コーヒーを飲んでいます",
        ],
    ),
    (
        "ko",
        [
            "오늘은 날씨가 아주 좋습니다",
            "도서관에는 역사책이 많이 있다",
            "그는 매일 아침 커피를 마신다",
        ],
    ),
    (
        "th",
        [
            "วันนี้อากาศดีมากไปเดินเล่นกัน",
            "ห้องสมุดมีหนังสือประวัติศาสตร์มาก",
            "เขาดื่มกาแฟร้อนทุกเช้า",
        ],
    ),
    (
        "ar",
        [
            "الطقس جميل جدا اليوم فلنذهب",
            "في المكتبة كتب كثيرة عن التاريخ",
            "يشرب القهوة الساخنة كل صباح",
        ],
    ),
    (
        "ru",
        [
            "Сегодня очень хорошая погода",
            "В библиотеке много книг по истории",
            "Он пьёт кофе каждое утро",
        ],
    ),
    (
        "hi",
        [
            "आज मौसम बहुत अच्छा है चलो",
            "पुस्तकालय में इतिहास की किताबें",
            "वह हर सुबह गरम कॉफ़ी पीता है",
        ],
    ),
    (
        "el",
        [
            "Σήμερα ο καιρός είναι πολύ καλός",
            "Η βιβλιοθήκη έχει πολλά βιβλία",
            "Πίνει καφέ κάθε πρωί",
        ],
    ),
];

#[test]
fn every_script_is_told_apart_and_found_again() {
    for tokenizer in ["words", "unicode", "chars"] {
        let mut texts = Vec::new();
        let mut expected = Vec::new();
        let names: Vec<String> = (0..SCRIPTS.len() * 5)
            .map(|number| format!("{number:02}"))
            .collect();
        let mut names = names.iter().map(String::as_str);
        for (script, sentences) in SCRIPTS {
            for sentence in sentences {
                texts.push((names.next().unwrap(), sentence.to_owned()));
            }
            // A page of these sentences in a random order, and the same with one word changed.
            let mut numbers = Numbers(script.len() as u64 + sentences[0].len() as u64);
            let page: Vec<String> = (0..60)
                .map(|number| format!("{}{number}", sentences[numbers.below(3)]))
                .collect();
            let pair = [names.next().unwrap(), names.next().unwrap()];
            texts.push((pair[0], page.join(" ")));
            let mut changed = page.clone();
            changed[30] = sentences[0].chars().rev().collect();
            texts.push((pair[1], changed.join(" ")));
            expected.push(pair.map(str::to_owned).to_vec());
        }
        assert_eq!(
            clusters(&texts, &["--tokenizer", tokenizer]),
            expected,
            "{tokenizer}"
        );
    }
}

/// A page, long enough that one word in twenty may change it beyond the threshold.
fn page() -> String {
    let words = "Caf\u{e9} na\u{ef}ve \u{c5}ngstr\u{f6}m co\u{f6}peration fa\u{e7}ade Z\u{fc}rich r\u{e9}sum\u{e9} jalape\u{f1}o d\u{e9}j\u{e0} vu";
    let mut numbers = Numbers(1);
    let words: Vec<&str> = words.split(' ').collect();
    (0..80)
        .map(|number| format!("{}{}", words[numbers.below(words.len())], number % 7))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Every letter with an accent as a letter and an accent.
fn decomposed(text: &str) -> String {
    let pairs = [
        ('\u{e9}', "e\u{301}"),
        ('\u{ef}', "i\u{308}"),
        ('\u{c5}', "A\u{30a}"),
        ('\u{f6}', "o\u{308}"),
        ('\u{e7}', "c\u{327}"),
        ('\u{fc}', "u\u{308}"),
        ('\u{f1}', "n\u{303}"),
        ('\u{e0}', "a\u{300}"),
    ];
    pairs
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(*from, to))
}

fn full_width(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '!'..='~' => char::from_u32(c as u32 + 0xfee0).unwrap(),
            ' ' => '\u{3000}',
            c => c,
        })
        .collect()
}

#[test]
fn what_a_reader_takes_for_the_same_is_the_same() {
    let page = page();
    let between = |what: &str| {
        page.chars()
            .map(|c| {
                if c.is_alphabetic() {
                    format!("{c}{what}")
                } else {
                    c.to_string()
                }
            })
            .collect::<String>()
    };
    let texts = vec![
        ("01", page.clone()),
        ("02", format!("\u{feff}{page}")),
        ("03", between("\u{200b}")),
        ("04", between("\u{ad}")),
        ("05", between("\u{200d}")),
        ("06", decomposed(&page)),
        ("07", full_width(&page)),
        ("08", page.to_uppercase()),
        ("09", page.replace(' ', "\n\t  \u{a0}")),
        ("10", page.replace(' ', "\u{2003}, \u{201c}")),
        ("11", page.replace(' ', " \r\n")),
        ("12", between("\u{2060}")),
        ("99", page.chars().rev().collect()),
    ];
    let same: Vec<&str> = texts
        .iter()
        .map(|text| text.0)
        .filter(|id| *id != "99")
        .collect();
    assert_eq!(
        clusters(&texts, &[]),
        ids(&[&same]),
        "with the default tokenizer"
    );
    // The tutorial's words know of accents, but what nobody sees parts them.
    let (seen, unseen) = (
        ["01", "02", "06", "07", "08", "09", "10", "11"],
        ["03", "04", "05", "12"],
    );
    assert_eq!(
        clusters(&texts, &["--tokenizer", "words"]),
        ids(&[&seen, &unseen])
    );
    assert_eq!(
        clusters(&texts, &["--threshold", "1"]),
        ids(&[&same]),
        "and not by a hair"
    );
}
