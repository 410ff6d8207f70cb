//! The memory that a process has let go of, and still holds.
//!
//! The allocator of glibc takes large blocks from the system one by one, and gives each back as soon
//! as it is free; but each one that is freed makes it take blocks up to that size from a heap in the
//! future. There short-lived large blocks and long-lived small ones come to lie between each other, and
//! a heap can give nothing back below its last block: a run on 4 GB of text was seen to hold 1.28 GB, and
//! 0.8 GB with a threshold that stays. A run whose memory is bounded has to give up the speed of the heap for the bound.

/// From now on, blocks of a megabyte and more go back to the system as soon as they are free, and what
/// is free now goes back at once. Does nothing where the allocator is another.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: libc::c_int = 1 << 20;
        // SAFETY: both are always allowed, from any thread, and change nothing that is in use.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
            libc::malloc_trim(0);
        }
    }
}
