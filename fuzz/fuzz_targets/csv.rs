#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinfold_fuzz::csv(bytes));
