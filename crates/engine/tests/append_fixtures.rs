//! The Go tool's sets, appended: record for record what a later snapshot of the same source holds (proved.md 6).
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod base;
#[path = "../../etcd-data/tests/fixture/mod.rs"]
mod fixture;

use base::{Bucket, append_to, assert_sound, bucket};
use bbolt::{Cancel, Db};
use etcd_data::RecordKey;
use fixture::{GARDENER_SETS, Unpacked, fixture_path};
use std::path::{Path, PathBuf};

/// Files of a set below its store, in the order of their names: fulls first, then deltas by revision.
fn objects(set: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![fixture_path(set, "store")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Records behind what the truth was compacted to, which is what two histories can be compared by.
fn above(records: Bucket, compacted: i64) -> Bucket {
    let main = |key: &[u8]| RecordKey::parse(key).unwrap().revision.main;
    records
        .into_iter()
        .filter(|(key, _)| main(key) > compacted)
        .collect()
}

#[test]
fn key_buckets_equal_those_of_a_later_snapshot_of_the_source() {
    for set in GARDENER_SETS {
        let dir = tempfile::tempdir().unwrap();
        let objects = objects(set);
        let full = objects
            .iter()
            .find(|path| name(path).starts_with("Full"))
            .unwrap();
        let base = dir.path().join("base");
        unpack(full, &base);
        let deltas: Vec<PathBuf> = objects
            .iter()
            .filter(|path| name(path).starts_with("Incr"))
            .map(|path| {
                let to = dir.path().join(name(path));
                delta::transcode(path, &to, &delta::Options::default(), &Cancel::never()).unwrap();
                to
            })
            .collect();
        let appended = append_to(&base, &deltas, None).unwrap();
        let truth = Unpacked::state_of(set);
        let source =
            etcd_data::inspect(&Db::open(truth.path()).unwrap(), &Cancel::never()).unwrap();
        assert_eq!(appended.revision, source.revision, "{set}");
        let compacted = source.compact_revision;
        let (ours, theirs) = (bucket(&base, "key"), bucket(&truth.path(), "key"));
        assert!(!theirs.is_empty());
        assert!(above(ours, compacted) == above(theirs, compacted), "{set}");
        assert_sound(&base);
    }
}

fn unpack(full: &Path, to: &Path) {
    let codec = match full.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => "gzip",
        Some("zlib") => "zlib",
        Some("Z") => "lzw",
        _ => "none",
    };
    let options = pack::UnpackOptions {
        source: full,
        arrival: pack::Arrival::complete(),
        target: to,
        codec: pack::Codec::from_name(codec).unwrap(),
        strip_trailer: true,
        max_bytes: 1 << 30,
    };
    pack::unpack(&options, &Cancel::never()).unwrap();
}
