//! `cargo +nightly fuzz run scan` in this folder's parent.
#![no_main]

#[allow(dead_code, reason = "the other target uses the rest")]
#[path = "../exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut file) = tempfile::NamedTempFile::new_in("/dev/shm")
        && file.write_all(bytes).is_ok()
    {
        let _ = exercise::scan(file.path());
        let _ = exercise::sweep(file.path(), 5000);
        exercise::append(file.path());
    }
});
