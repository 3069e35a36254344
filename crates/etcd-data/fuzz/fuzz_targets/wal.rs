//! `cargo +nightly fuzz run wal` in this folder's parent.
#![no_main]

#[allow(dead_code, reason = "the other target uses the rest")]
#[path = "../exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(dir) = tempfile::tempdir_in("/dev/shm") {
        exercise::wal(dir.path(), bytes);
    }
});
