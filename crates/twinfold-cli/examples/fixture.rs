//! Writes the fixture, `fixtures/documents.csv`, to standard output.
//!
//! ```text
//! cargo run --example fixture > fixtures/documents.csv
//! ```
//!
//! Six topics, each as a canonical page, an exact copy on a mirror, and a revision with one word
//! changed on an archive; and six pages that have nothing to do with one another. So there is
//! nothing to argue about: of 24 documents 12 are to be kept, the six canonical pages among them.

use std::io::{self, Write};

/// A page, the word that its revision changes, and what to.
struct Topic {
    name: &'static str,
    title: &'static str,
    text: &'static str,
    word: &'static str,
    revised: &'static str,
}

const TOPICS: [Topic; 6] = [
    Topic {
        name: "orchard-pruning",
        title: "Pruning old apple trees",
        text: "Old apple trees are pruned in late winter, while the buds are still closed and the \
               shape of the crown can be seen. Take out dead and crossing branches first, then open \
               the middle so that light reaches every fork. Never remove more than a quarter of the \
               living wood in one year, because the tree answers with a thicket of upright shoots. \
               Cut just outside the collar, leave no stub, and let the wound dry by itself. Gather \
               the cuttings the same day and burn those that show canker.",
        word: "thicket",
        revised: "forest",
    },
    Topic {
        name: "tide-gauge",
        title: "Reading a tide gauge",
        text: "The gauge at the harbour wall is read four times a day, at the hours that the table \
               by the door gives. Wait until three waves have passed, note the highest and the lowest \
               mark, and write down their mean to the nearest centimetre. If wind stands on the wall, \
               add its direction and force, since a gale can lift the water by half a metre. A reading \
               that was missed is left empty and never guessed. At the end of the month the sheet goes \
               to the port office, which compares it with the buoy outside the bar.",
        word: "buoy",
        revised: "pole",
    },
    Topic {
        name: "choir-rehearsal",
        title: "How the choir rehearses",
        text: "Every rehearsal begins with ten minutes of breathing and humming, standing up, before \
               anyone opens a score. New pieces are first spoken in rhythm, then sung on one vowel, and \
               only then with their words. Each voice learns its line alone in a side room, and the \
               four meet again after the break. The conductor marks breaths in pencil and asks the \
               section leaders to copy them into every folder. Whoever misses two evenings in a row \
               listens from the hall until the next programme begins. Coffee is made by the altos.",
        word: "programme",
        revised: "season",
    },
    Topic {
        name: "glacier-survey",
        title: "Surveying a small glacier",
        text: "The survey party leaves the hut before dawn, so that the snow bridges are still frozen \
               hard. Eleven stakes stand along the centre line; at each the party measures how much of \
               it has melted out and drills it in again if less than a metre is left. Positions are \
               taken twice with the receiver on its pole and averaged at the hut. Cracks wider than a \
               boot are sketched on the map with the date. In autumn the differences between the stakes \
               give the balance of the year, which has been negative for three decades.",
        word: "autumn",
        revised: "October",
    },
    Topic {
        name: "library-returns",
        title: "Returned books",
        text: "Books that come back through the night box are checked in before the doors open. Shake \
               each one gently over the tray: letters, photographs and pressed flowers are kept in an \
               envelope with the borrower's number for one year. Wet pages are interleaved with blotting \
               paper and put under the press; mould goes straight into a sealed bag. Torn spines wait on \
               the red trolley for the binder, who comes on alternate Thursdays. Only when a volume is \
               clean and whole does it return to its shelf, and its reserve slip to the desk.",
        word: "alternate",
        revised: "most",
    },
    Topic {
        name: "bread-oven",
        title: "Firing the village oven",
        text: "The village oven is fired on Friday evening with split beech, stacked loosely so that the \
               flames reach the vault. After four hours the bricks turn from black to white; then the \
               embers are raked to the sides and the floor is swept with a wet broom. Throw a handful of \
               flour on the stone: if it browns while you count to twenty, the heat is right for loaves. \
               Rye goes in first and stays longest. When the bread is out, trays of plums dry overnight in \
               what warmth remains, and the door is left ajar until Sunday.",
        word: "overnight",
        revised: "slowly",
    },
];

/// Pages without a like.
const SINGLETONS: [(&str, &str, &str); 6] = [
    (
        "ferry-timetable",
        "Winter ferries",
        "From November to March the ferry crosses only twice a day, at eight and at four, and carries \
         bicycles free of charge. In fog the skipper sounds the horn at every full minute. Return \
         tickets stay valid until the boats change to their summer hours.",
    ),
    (
        "bee-swarm",
        "A swarm in May",
        "A swarm that hangs in the open is calm, since it has no brood to defend. Hold the straw \
         basket under it, strike the branch once, and set the basket down in the shade with its rim \
         raised. By dusk the last stragglers have walked in, and the colony can be carried home.",
    ),
    (
        "chess-club",
        "Rules of the chess club",
        "Games are played with ninety minutes a side and half a minute for each move. Telephones lie \
         switched off on the window sill. Draws may not be offered before the thirtieth move, and \
         disputes go to the arbiter, whose word ends them for the evening.",
    ),
    (
        "lighthouse-lens",
        "Cleaning the lens",
        "Wipe the prisms from top to bottom with spirit and a linen cloth that has never seen soap. \
         Rings on the fingers are forbidden in the lantern room. One pane takes an hour; the whole \
         apparatus, with its two hundred and sixty pieces of glass, a good week.",
    ),
    (
        "night-train",
        "Notes from the night train",
        "Somewhere after the border the carriages are uncoupled, pushed about in the dark, and joined \
         to another locomotive. Nobody wakes except the attendant, who brews tea for himself and \
         counts the passports again. At sunrise the plain lies under frost as far as one can see.",
    ),
    (
        "well-digging",
        "Digging a well by hand",
        "Two people dig and a third minds the rope. Line the shaft with rings as you go, for sand \
         gives no warning. A candle that gutters means bad air: come up at once. When water seeps in \
         faster than a bucket lifts it out, lay gravel on the bottom and rest for a day.",
    ),
];

const SOURCE: &str = "generated_fixture";

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "doc_id,source,domain,crawled_at,title,body")?;
    for (number, topic) in (0u32..).zip(&TOPICS) {
        let revision = topic.text.replacen(topic.word, topic.revised, 1);
        let pages = [
            ("canonical", "pages.example", "", topic.text),
            ("mirror", "mirror.example", " (mirror)", topic.text),
            (
                "revision",
                "archive.example",
                " (revised)",
                revision.as_str(),
            ),
        ];
        for ((kind, domain, suffix, text), age) in pages.into_iter().zip(0..) {
            let day = 20 - number - age;
            let title = format!("{}{suffix}", topic.title);
            row(
                &mut out,
                &format!("{}-{kind}", topic.name),
                domain,
                day,
                &title,
                text,
            )?;
        }
    }
    for (number, (name, title, text)) in (0u32..).zip(SINGLETONS) {
        row(&mut out, name, "notes.example", 9 - number, title, text)?;
    }
    Ok(())
}

fn row(
    out: &mut impl Write,
    id: &str,
    domain: &str,
    day: u32,
    title: &str,
    text: &str,
) -> io::Result<()> {
    // No text holds a double quote.
    writeln!(
        out,
        "{id},{SOURCE},{domain},2026-03-{day:02},{title},\"{text}\""
    )
}
