#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| twinfold_fuzz::threshold(text));
