//! Advice to the system about large tables.

/// Asks for huge pages under `table`, which then costs far fewer misses of the address cache when it
/// is read in no order. Only advice: nothing depends on it, and systems without it do nothing.
///
/// Best before the table is first written to.
pub fn prefer_huge_pages<T>(table: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        /// The size of a huge page, and the least that is worth the call.
        const HUGE: usize = 2 << 20;
        let bytes = std::mem::size_of_val(table);
        let start = table.as_mut_ptr().addr();
        let first = start.next_multiple_of(HUGE);
        let end = (start + bytes) / HUGE * HUGE;
        if first < end {
            // SAFETY: the range lies within the table, and the advice changes no contents.
            unsafe {
                let pages = table.as_mut_ptr().cast::<u8>().add(first - start);
                libc::madvise(pages.cast(), end - first, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_stay() {
        for length in [0usize, 1, 4096, (2 << 20) - 1, 9 << 20] {
            let mut table: Vec<u8> = (0..length).map(|i| i as u8).collect();
            prefer_huge_pages(&mut table);
            assert!(table.iter().enumerate().all(|(i, &byte)| byte == i as u8));
        }
    }
}
