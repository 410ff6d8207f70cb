#![no_main]

use std::panic;

// libFuzzer ends the process at the first panic. Those of the decoder are caught, and no fault.
libfuzzer_sys::fuzz_target!(
    init: {
        let abort = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !twinfold_io::source::is_decoding() {
                abort(info);
            }
        }));
    },
    |bytes: &[u8]| twinfold_fuzz::parquet(bytes)
);
