//! XXH3-64 of many short inputs, such as shingles.
//!
//! Source: Y. Collet, XXH3, as `xxhash-rust` has it; that crate is the reference and does the other
//! lengths.
//!
//! Cost: some five nanoseconds for an input of 17 to 64 bytes.

/// XXH3-64 with seed 0.
#[inline(always)]
pub fn xxh3_64(input: &[u8]) -> u64 {
    if (17..=64).contains(&input.len()) {
        mid(input)
    } else {
        other(input)
    }
}

/// Apart, so that it does not swell the loop over the usual inputs.
#[cold]
#[inline(never)]
fn other(input: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(input)
}

/// Appends the hash of each window of `width` tokens of a text to `hashes`, in order.
///
/// The tokens begin at `starts`, ascending, and one byte stands between each two. With fewer tokens
/// than `width` there is one window, the whole; without a token there is none.
///
/// # Panics
/// If `width` is 0 and there are tokens, or a start is not in the text or not after the one before.
pub fn append_window_hashes(bytes: &[u8], starts: &[usize], width: usize, hashes: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has just said that it has the instruction set.
        return unsafe { bmi2(bytes, starts, width, hashes) };
    }
    windows(bytes, starts, width, hashes);
}

/// Its multiplication writes to registers of choice, which spares moves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
fn bmi2(bytes: &[u8], starts: &[usize], width: usize, hashes: &mut Vec<u64>) {
    windows(bytes, starts, width, hashes);
}

/// Inlined into each version.
#[inline(always)]
fn windows(bytes: &[u8], starts: &[usize], width: usize, hashes: &mut Vec<u64>) {
    if starts.is_empty() {
        return;
    }
    let width = width.min(starts.len());
    let last = starts[starts.len() - width];
    let followed = starts.iter().zip(&starts[width..]);
    hashes.extend(followed.map(|(&start, &next)| xxh3_64(&bytes[start..next - 1])));
    hashes.push(xxh3_64(&bytes[last..]));
}

/// The first 64 bytes of XXH3's default secret, as little-endian integers.
const SECRET: [u64; 8] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
    0x4c26_3a81_e690_35e0,
];

/// Where the two inner mixes of an input stand, and all bits if it has them.
#[derive(Clone, Copy)]
struct Inner {
    second: u8,
    second_last: u8,
    mask: u64,
}

/// By the length of the input. A table, lest the compiler makes branches of it. All places lie
/// within the input.
const INNER: [Inner; 65] = {
    let mut table = [Inner {
        second: 0,
        second_last: 0,
        mask: 0,
    }; 65];
    let mut length = 33;
    while length <= 64 {
        table[length] = Inner {
            second: 16,
            second_last: length as u8 - 32,
            mask: u64::MAX,
        };
        length += 1;
    }
    table
};

/// XXH3-64 with seed 0 of 17 to 64 bytes, which nearly all shingles have.
///
/// The original branches on whether there are more than 32 bytes, which a processor cannot foresee
/// with shingles. Here the two mixes that only longer inputs have are always made and masked away.
#[inline(always)]
fn mid(input: &[u8]) -> u64 {
    let length = input.len();
    assert!((17..=64).contains(&length));
    let mix = |at: usize, secret: usize| {
        // SAFETY: each place below is at least 16 bytes before the end of the input.
        let bytes = unsafe { input.as_ptr().add(at).cast::<[u8; 16]>().read_unaligned() };
        let word = u128::from_le_bytes(bytes);
        let low = word as u64 ^ SECRET[secret];
        let high = (word >> 64) as u64 ^ SECRET[secret + 1];
        let product = u128::from(low) * u128::from(high);
        product as u64 ^ (product >> 64) as u64
    };
    let Inner {
        second,
        second_last,
        mask,
    } = INNER[length];
    let inner = mix(second.into(), 4).wrapping_add(mix(second_last.into(), 6)) & mask;
    let outer = mix(0, 0).wrapping_add(mix(length - 16, 2));
    let mut hash = (length as u64)
        .wrapping_mul(0x9e37_79b1_85eb_ca87)
        .wrapping_add(inner)
        .wrapping_add(outer);
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(0x1656_6791_9e37_79f9);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_reference_at_every_length(bytes in prop::collection::vec(any::<u8>(), 301)) {
            for length in 0..=300 {
                for start in [0, 300 - length] {
                    let input = &bytes[start..start + length];
                    prop_assert_eq!(xxh3_64(input), xxhash_rust::xxh3::xxh3_64(input));
                }
            }
        }

        #[test]
        fn windows_equal_the_reference(
            lengths in prop::collection::vec(1usize..30, 0..60),
            bytes in prop::collection::vec(any::<u8>(), 60 * 30),
            width in 1usize..9,
        ) {
            let mut starts = Vec::new();
            let mut end = 0;
            for length in lengths {
                starts.push(end);
                end += length + 1;
            }
            let text = &bytes[..end.saturating_sub(1)];
            let mut hashes = [vec![7], vec![7]];
            append_window_hashes(text, &starts, width, &mut hashes[0]);
            super::windows(text, &starts, width, &mut hashes[1]);
            let mut expected = vec![7];
            let windows = match starts.len() {
                0 => 0,
                tokens => tokens.saturating_sub(width) + 1,
            };
            for first in 0..windows {
                let end = starts.get(first + width).map_or(text.len(), |next| next - 1);
                expected.push(xxhash_rust::xxh3::xxh3_64(&text[starts[first]..end]));
            }
            prop_assert_eq!(&hashes[0], &expected);
            prop_assert_eq!(&hashes[1], &expected);
        }
    }
}
