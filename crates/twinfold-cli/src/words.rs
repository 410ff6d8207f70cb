//! Numbers as people read them.

use indicatif::HumanCount;

/// A count and what is counted: `1 record`, `12,345 records`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{} {noun}", HumanCount(count))
}

/// A share in percent with as many digits as show that it is neither all nor nothing, unless it is:
/// `93.48%`, `99.9998%`, `0.00004%`, `100%`.
pub(crate) fn percent(share: f64, digits: usize) -> String {
    /// More digits than anyone reads.
    const MOST: usize = 9;
    let hundred = share * 100.0;
    if !(share > 0.0 && share < 1.0) {
        return format!("{hundred:.0}%");
    }
    let least = 10f64.powi(-(MOST as i32));
    if hundred < least {
        return format!("under {least:.MOST$}%");
    }
    if hundred > 100.0 - least {
        return format!("over {:.MOST$}%", 100.0 - least);
    }
    let shown = (digits..=MOST).map(|digits| format!("{hundred:.digits$}"));
    let tells = |text: &String| {
        let shown: f64 = text.parse().unwrap_or(hundred);
        shown > 0.0 && shown < 100.0
    };
    shown.into_iter().find(tells).unwrap_or_default() + "%"
}

/// A similarity to two decimals, or to as many as show that it is neither 0 nor 1, unless it is.
pub(crate) fn similarity(score: f64) -> String {
    let tells = |text: &String| {
        let shown: f64 = text.parse().unwrap_or(score);
        (shown > 0.0 || score <= 0.0) && (shown < 1.0 || score >= 1.0)
    };
    (2..=12)
        .map(|digits| format!("{score:.digits$}"))
        .find(tells)
        .unwrap_or_else(|| format!("{score:e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_show_that_they_are_not_all_nor_nothing() {
        for (share, shown) in [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.934_782, "93.48%"),
            (0.999_998, "99.9998%"),
            (0.999_949, "99.99%"),
            (0.999_99, "99.999%"),
            (0.999_996, "99.9996%"),
            (0.000_01, "0.001%"),
            (0.5, "50.00%"),
            (4e-7, "0.00004%"),
            (1e-7, "0.00001%"),
            (8e-56, "under 0.000000001%"),
            (1.0 - 1e-13, "over 99.999999999%"),
        ] {
            assert_eq!(percent(share, 2), shown, "{share}");
        }
        assert_eq!(percent(0.694, 0), "69%");
        assert_eq!(percent(0.9999, 0), "99.99%");
        assert_eq!(percent(0.004, 0), "0.4%");
        for exponent in 1..40 {
            for share in [10f64.powi(-exponent), 1.0 - 10f64.powi(-exponent)] {
                let shown = percent(share, 2);
                let all = share >= 1.0;
                assert_eq!(shown == "100%", all, "{share}: {shown}");
                assert!(shown != "0.00%" && shown != "100.00%", "{share}: {shown}");
            }
        }
    }

    #[test]
    fn similarities_show_that_they_are_not_the_ends() {
        for (score, shown) in [
            (0.0, "0.00"),
            (1.0, "1.00"),
            (0.111, "0.11"),
            (1e-7, "0.0000001"),
            (0.9999, "0.9999"),
            (1e-19, "1e-19"),
        ] {
            assert_eq!(similarity(score), shown);
        }
    }

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(counted(0, "record", "records"), "0 records");
        assert_eq!(counted(1, "record", "records"), "1 record");
        assert_eq!(counted(1234, "record", "records"), "1,234 records");
    }
}
