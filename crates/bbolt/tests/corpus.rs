//! The fuzzers' seeds, and whatever they find and leave in the corpus, run as an ordinary test.

#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as said"
)]

#[path = "../fuzz/exercise.rs"]
mod exercise;

use std::path::Path;

#[test]
fn each_corpus_file_comes_to_an_end() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let dir = tempfile::tempdir().unwrap();
    let mut files = 0;
    for target in std::fs::read_dir(corpus).unwrap() {
        for seed in std::fs::read_dir(target.unwrap().path()).unwrap() {
            let path = dir.path().join("seed");
            std::fs::copy(seed.unwrap().path(), &path).unwrap();
            let sound = exercise::check(&path);
            let scanned = exercise::scan(&path);
            assert!(!sound || scanned.is_ok(), "{scanned:?}");
            let _ = exercise::sweep(&path, 3000);
            exercise::append(&path);
            files += 1;
        }
    }
    assert!(files >= 12);
}
