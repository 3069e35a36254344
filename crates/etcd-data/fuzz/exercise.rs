//! What must come to an end without a panic, whatever the bytes: shared by the fuzz targets and the tests.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as said"
)]

use std::fs;
use std::path::Path;

use bbolt::Cancel;
use etcd_data::wal::{
    ConfState, Entry, HardState, SnapshotMark, SurveyOptions, WalMetadata, WalSurvey, effect_of,
    read_snap_file, repair, survey,
};

/// A member directory whose WAL is `bytes`, cut into files at the places that its head names, and surveyed as each
/// version would; then repaired and surveyed again.
pub fn wal(dir: &Path, bytes: &[u8]) {
    let (wal_dir, snap_dir) = (dir.join("wal"), dir.join("snap"));
    write_files(&wal_dir, bytes);
    fs::create_dir_all(&snap_dir).unwrap();
    let before = survey_as(&wal_dir, &snap_dir, None);
    for minor in [4, 7] {
        survey_as(&wal_dir, &snap_dir, Some(minor));
    }
    let repaired = repair(&wal_dir, None);
    let after = survey_as(&wal_dir, &snap_dir, None);
    let (Some(before), Some(after)) = (before, after) else {
        return;
    };
    if let (Some(torn), Ok(Some(repaired))) = (before.torn, repaired)
        && torn.offset == repaired.kept_bytes
    {
        assert!(after.torn.is_none(), "{after:?}");
        assert_eq!(before.last_index, after.last_index);
        assert_eq!(before.beyond, after.beyond);
    }
}

/// The messages in records, and snapshot files.
pub fn raft(dir: &Path, bytes: &[u8]) {
    if let Ok(entry) = Entry::decode(bytes) {
        let _ = effect_of(&entry);
    }
    let effect = effect_of(&Entry {
        data: bytes,
        ..Entry::default()
    });
    assert!(effect.possible || !effect.certain);
    let _ = (HardState::decode(bytes), SnapshotMark::decode(bytes));
    let _ = (WalMetadata::decode(bytes), ConfState::decode(bytes));
    let path = dir.join("0000000000000001-0000000000000001.snap");
    fs::write(&path, bytes).unwrap();
    let _ = read_snap_file(&path);
}

fn survey_as(wal_dir: &Path, snap_dir: &Path, minor: Option<u32>) -> Option<WalSurvey> {
    let options = SurveyOptions {
        applied: 3,
        applied_term: Some(1),
        revision: 3,
        guarded: false,
        minor,
    };
    survey(wal_dir, snap_dir, &options, &Cancel::never()).ok()
}

/// Head: number of further files (0 to 3), then for each the u16 LE length of the file before it.
fn write_files(wal_dir: &Path, bytes: &[u8]) {
    let _ = fs::remove_dir_all(wal_dir);
    fs::create_dir_all(wal_dir).unwrap();
    let Some((&more, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut lengths = Vec::new();
    for _ in 0..more % 4 {
        let Some((length, tail)) = rest.split_first_chunk::<2>() else {
            break;
        };
        lengths.push(usize::from(u16::from_le_bytes(*length)));
        rest = tail;
    }
    lengths.push(rest.len());
    for (sequence, length) in lengths.into_iter().enumerate() {
        let (file, tail) = rest.split_at(length.min(rest.len()));
        let index = if sequence == 0 { 0 } else { sequence * 2 };
        let name = format!("{sequence:016x}-{index:016x}.wal");
        fs::write(wal_dir.join(name), file).unwrap();
        rest = tail;
    }
}
