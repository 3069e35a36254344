//! The fuzz corpus, and the findings that were added to it, without a fuzzer.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

#[path = "../fuzz/targets.rs"]
mod targets;

use std::path::Path;

fn run(target: &str, each: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        each(&bytes);
        for cut in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
            each(&bytes[..cut]);
        }
        files += 1;
    }
    assert!(files > 0, "{} holds no files", folder.display());
}

#[test]
fn corpus_of_ebd() {
    run("ebd", targets::ebd);
}

#[test]
fn corpus_of_json() {
    run("json", targets::json);
}

#[test]
fn corpus_of_watch_response() {
    run("watch_response", targets::watch_response);
}
