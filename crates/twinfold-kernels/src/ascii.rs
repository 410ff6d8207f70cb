//! One pass over text: words in lower case with one space between each two, or white space
//! collapsed. Case and white space are those of ASCII; bytes outside ASCII are kept as they are.
//!
//! Both keep some bytes and drop others, which on AVX-512 (VBMI2) is one compress instruction for
//! 64 bytes. The serial versions write each byte to the next free place and move on only if it
//! counts, so that no branch depends on the data.
//!
//! Cost: one step for each byte, or for each 64 of them.

/// Which of the bytes begin a character of UTF-8 outside ASCII, the first byte in the lowest bit.
#[inline]
pub fn lead_bytes(bytes: &[u8; 32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        sse2::lead_bytes(bytes)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        lead_bytes_serial(bytes)
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn lead_bytes_serial(bytes: &[u8; 32]) -> u32 {
    let mut leads = 0;
    for (place, &byte) in bytes.iter().enumerate() {
        leads |= u32::from(byte >= 0xc0) << place;
    }
    leads
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    #[inline]
    pub(super) fn lead_bytes(bytes: &[u8; 32]) -> u32 {
        // SAFETY: every x86-64 processor has SSE2, and both loads lie inside the array.
        unsafe {
            let halves = [0, 16].map(|at| _mm_loadu_si128(bytes.as_ptr().add(at).cast()));
            let [low, high] = halves.map(|half| {
                // The top two bits are set: as signed numbers, -64 to -1.
                let least = _mm_cmpgt_epi8(half, _mm_set1_epi8(-65));
                _mm_movemask_epi8(_mm_and_si128(least, half)) as u32
            });
            low | high << 16
        }
    }
}

/// Appends the words of `bytes` to `text`: runs of letters, digits and bytes outside ASCII, the
/// letters of ASCII in lower case. After each word that ends within `bytes` stands one space. The place of the first byte of
/// each word goes to `starts`. `in_word` says whether `text` ends within a word, which the bytes then
/// continue; returned is the same for the end.
pub fn append_words(
    bytes: &[u8],
    in_word: bool,
    text: &mut Vec<u8>,
    starts: &mut Vec<usize>,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= LONG && has_compress() {
        // SAFETY: the processor has just said that it has the instruction sets.
        return unsafe { avx512::append_words(bytes, in_word, text, starts) };
    }
    append_words_serial(bytes, in_word, text, starts)
}

/// Appends `bytes` to `text` with each run of ASCII white space (9 to 13 and 28 to 32) as one space,
/// and none at the beginning of `text`.
pub fn append_collapsed(bytes: &[u8], text: &mut Vec<u8>) {
    let visible_before = text.last().is_some_and(|&last| last != b' ');
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= LONG && has_compress() {
        // SAFETY: the processor has just said that it has the instruction sets.
        return unsafe { avx512::append_collapsed(bytes, visible_before, text) };
    }
    append_collapsed_serial(bytes, visible_before, text);
}

/// Below so many bytes the serial version is as fast.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 16;

#[cfg(target_arch = "x86_64")]
fn has_compress() -> bool {
    is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// For each byte its lower-case form if it belongs to words, else 0.
const WORD: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() || byte >= 128 {
            table[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

fn append_words_serial(
    bytes: &[u8],
    in_word: bool,
    text: &mut Vec<u8>,
    starts: &mut Vec<usize>,
) -> bool {
    let (mut length, mut count) = (text.len(), starts.len());
    let mut in_word = usize::from(in_word);
    text.resize(length + bytes.len() + 1, 0);
    starts.resize(count + bytes.len() / 2 + 1, 0);
    for &byte in bytes {
        let lower = WORD[usize::from(byte)];
        let word = usize::from(lower != 0);
        text[length] = if lower != 0 { lower } else { b' ' };
        starts[count] = length;
        count += word & !in_word & 1;
        length += word | in_word;
        in_word = word;
    }
    text.truncate(length);
    starts.truncate(count);
    in_word == 1
}

fn append_collapsed_serial(bytes: &[u8], visible_before: bool, text: &mut Vec<u8>) {
    let mut length = text.len();
    let mut visible_before = usize::from(visible_before);
    text.resize(length + bytes.len() + 1, 0);
    for &byte in bytes {
        let visible = usize::from(!matches!(byte, 9..=13 | 28..=32));
        text[length] = if visible == 1 { byte } else { b' ' };
        length += visible | visible_before;
        visible_before = visible;
    }
    text.truncate(length);
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    const LANES: usize = 64;

    /// The bytes at `at`, with those past the end as zeros, and a mask of those that are there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn load(bytes: &[u8], at: usize) -> (__m512i, u64) {
        let rest = bytes.len() - at;
        let there = if rest >= LANES {
            u64::MAX
        } else {
            (1 << rest) - 1
        };
        // SAFETY: lanes outside the mask are not read, and those within lie inside the slice.
        let block = unsafe { _mm512_maskz_loadu_epi8(there, bytes.as_ptr().add(at).cast()) };
        (block, there)
    }

    /// Appends the lanes of `block` that `keep` has to `text`.
    ///
    /// # Safety
    /// The text must have room for 64 bytes more.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    unsafe fn push(block: __m512i, keep: u64, text: &mut Vec<u8>) {
        let length = text.len();
        // SAFETY: there is room for the whole block, of which the kept bytes come first; all bytes
        // up to the new length have been written.
        unsafe {
            let packed = _mm512_maskz_compress_epi8(keep, block);
            _mm512_storeu_si512(text.as_mut_ptr().add(length).cast(), packed);
            text.set_len(length + keep.count_ones() as usize);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
    pub(super) fn append_words(
        bytes: &[u8],
        in_word: bool,
        text: &mut Vec<u8>,
        starts: &mut Vec<usize>,
    ) -> bool {
        // Every byte may be kept, and a store writes a whole block.
        text.reserve(bytes.len() + LANES);
        starts.reserve(bytes.len() / 2 + LANES);
        let mut numbers = [0u8; LANES];
        for (number, place) in (0..).zip(&mut numbers) {
            *place = number;
        }
        // SAFETY: the array holds a whole block.
        let numbers = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
        let byte = |byte: u8| _mm512_set1_epi8(byte as i8);
        let mut carry = u64::from(in_word);
        let mut at = 0;
        while at < bytes.len() {
            let (block, there) = load(bytes, at);
            let upper = _mm512_cmple_epu8_mask(_mm512_sub_epi8(block, byte(b'A')), byte(25));
            let lower = _mm512_mask_add_epi8(block, upper, block, byte(b'a' - b'A'));
            let letter = _mm512_cmple_epu8_mask(_mm512_sub_epi8(lower, byte(b'a')), byte(25));
            let digit = _mm512_cmple_epu8_mask(_mm512_sub_epi8(block, byte(b'0')), byte(9));
            let word = letter | digit | _mm512_movepi8_mask(block);
            let before = word << 1 | carry;
            let keep = (word | before) & there;
            let first = word & !before;
            let base = text.len();
            // Where the kept bytes land, those that begin a word.
            let places = _pext_u64(first, keep);
            let count = places.count_ones() as usize;
            let packed = _mm512_maskz_compress_epi8(places, numbers);
            let base_lanes = _mm512_set1_epi64(base as i64);
            let mut eights = packed;
            let mut written = 0;
            // Most blocks hold no more than 16 words: to write so many always saves a branch that
            // cannot be foreseen.
            loop {
                for _ in 0..2 {
                    let eight = _mm512_cvtepu8_epi64(_mm512_castsi512_si128(eights));
                    // SAFETY: at most one byte in two begins a word, and a block of room is left
                    // above that for the last stores of eight.
                    unsafe {
                        _mm512_storeu_si512(
                            starts.as_mut_ptr().add(starts.len() + written).cast(),
                            _mm512_add_epi64(eight, base_lanes),
                        );
                    }
                    // Eight lanes on.
                    eights = _mm512_alignr_epi64(eights, eights, 1);
                    written += 8;
                }
                if written >= count {
                    break;
                }
            }
            // SAFETY: so many places have been written, and so much room was reserved.
            unsafe {
                starts.set_len(starts.len() + count);
                push(_mm512_mask_blend_epi8(word, byte(b' '), lower), keep, text);
            }
            let last = there.count_ones() - 1;
            carry = word >> last & 1;
            at += LANES;
        }
        carry == 1
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub(super) fn append_collapsed(bytes: &[u8], visible_before: bool, text: &mut Vec<u8>) {
        text.reserve(bytes.len() + LANES);
        let byte = |byte: u8| _mm512_set1_epi8(byte as i8);
        let mut carry = u64::from(visible_before);
        let mut at = 0;
        while at < bytes.len() {
            let (block, there) = load(bytes, at);
            let low = _mm512_cmple_epu8_mask(_mm512_sub_epi8(block, byte(9)), byte(4));
            let high = _mm512_cmple_epu8_mask(_mm512_sub_epi8(block, byte(28)), byte(4));
            let visible = !(low | high);
            let keep = (visible | visible << 1 | carry) & there;
            // SAFETY: at most all bytes are kept, and a block of room was reserved above that.
            unsafe {
                push(
                    _mm512_mask_blend_epi8(visible, byte(b' '), block),
                    keep,
                    text,
                )
            };
            carry = visible >> (there.count_ones() - 1) & 1;
            at += LANES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes of which many are letters, separators and white space.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => prop::sample::select(b"abzAZ09".to_vec()),
            3 => prop::sample::select(b" \t\n.-_@[`{/:\x1c\x1f\x08\x0e\x1b!".to_vec()),
            1 => any::<u8>(),
        ];
        prop::collection::vec(byte, 0..300)
    }

    proptest! {
        #[test]
        fn words_equal_the_serial_version(
            bytes in text(),
            in_word: bool,
            before in "[a-z]{0,70}",
        ) {
            let mut texts = [before.clone().into_bytes(), before.into_bytes()];
            let mut starts = [vec![7], vec![7]];
            let [serial, vectorised] = &mut texts;
            let expected = append_words_serial(&bytes, in_word, serial, &mut starts[0]);
            prop_assert_eq!(append_words(&bytes, in_word, vectorised, &mut starts[1]), expected);
            prop_assert_eq!(&texts[0], &texts[1]);
            prop_assert_eq!(&starts[0], &starts[1]);
        }

        #[test]
        fn collapsing_equals_the_serial_version(bytes in text(), before in "|[a-z]{1,70} ?") {
            let mut texts = [before.clone().into_bytes(), before.clone().into_bytes()];
            let visible_before = before.bytes().last().is_some_and(|last| last != b' ');
            append_collapsed_serial(&bytes, visible_before, &mut texts[0]);
            append_collapsed(&bytes, &mut texts[1]);
            prop_assert_eq!(&texts[0], &texts[1]);
        }

        #[test]
        fn leads_equal_the_serial_version(bytes: [u8; 32]) {
            prop_assert_eq!(lead_bytes(&bytes), lead_bytes_serial(&bytes));
        }
    }
}
