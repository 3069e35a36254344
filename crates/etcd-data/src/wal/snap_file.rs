//! Raft snapshot files, `snap/%016x-%016x.snap` (term, index): `snappb.Snapshot {1 crc, 2 data}` with crc = CRC32C of
//! data, which is `raftpb.Snapshot {1 data, 2 metadata {1 conf_state, 2 index, 3 term}}`.
//!
//! etcd up to 3.6 begins at the newest one that is sound and that its WAL knows, and renames unsound ones to
//! `*.broken`; 3.7 reads none. A follower that got its database from the leader has it as `%016x.snap.db` for a moment.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::proto::{Fields, ProtoError};
use crate::wal::message::{ConfState, SnapshotMark};

/// Longest file that is read. It holds the v2 store: some KB, unless the v2 API was in use.
pub const MAX_SNAP_FILE_BYTES: u64 = 512 << 20;
const SUFFIX: &str = ".snap";
/// Most names that are looked at; etcd keeps five.
const MAX_SNAP_FILES: usize = 10_000;

/// Reads one file: whom it stands for. `Ok(Err)` says what is wrong with it.
pub fn read_snap_file(path: &Path) -> Result<std::result::Result<SnapshotMark, String>> {
    let failed = |e| Error::io("read", path, e);
    let mut bytes = Vec::new();
    let mut file = File::open(path)
        .map_err(failed)?
        .take(MAX_SNAP_FILE_BYTES + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_SNAP_FILE_BYTES {
        return Ok(Err(format!(
            "it has more than {MAX_SNAP_FILE_BYTES} bytes, which are not read"
        )));
    }
    Ok(decode(&bytes))
}

/// The database that a leader sent for the snapshot at that index.
#[must_use]
pub fn snap_db_name(index: u64) -> String {
    format!("{index:016x}.snap.db")
}

/// Names of snapshot files, newest first, as etcd tries them.
pub(crate) fn list_snap_files(dir: &Path) -> Result<Vec<String>> {
    let failed = |e| Error::io("list", dir, e);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        match name.to_str() {
            Some(name) if name.ends_with(SUFFIX) => names.push(name.to_owned()),
            _ => {}
        }
    }
    names.sort_by(|a, b| b.cmp(a));
    names.truncate(MAX_SNAP_FILES);
    Ok(names)
}

fn decode(bytes: &[u8]) -> std::result::Result<SnapshotMark, String> {
    let unreadable = |e: ProtoError| format!("it is no raft snapshot: {e}");
    let (crc, data) = envelope(bytes).map_err(unreadable)?;
    if data.is_empty() || crc == 0 {
        return Err("it is empty".to_owned());
    }
    if crc32c::crc32c(data) != crc {
        return Err("its crc is wrong".to_owned());
    }
    mark(data).map_err(unreadable)
}

fn envelope(bytes: &[u8]) -> std::result::Result<(u32, &[u8]), ProtoError> {
    let (mut crc, mut data) = (0, &[][..]);
    let mut fields = Fields::new(bytes);
    while let Some((field, value)) = fields.next_field()? {
        match field {
            1 => crc = (value.varint(1)? & u64::from(u32::MAX)) as u32,
            2 => data = value.bytes(2)?,
            _ => {}
        }
    }
    Ok((crc, data))
}

fn mark(snapshot: &[u8]) -> std::result::Result<SnapshotMark, ProtoError> {
    let mut metadata = &[][..];
    let mut fields = Fields::new(snapshot);
    while let Some((field, value)) = fields.next_field()? {
        if field == 2 {
            metadata = value.bytes(2)?;
        }
    }
    let mut mark = SnapshotMark::default();
    let mut fields = Fields::new(metadata);
    while let Some((field, value)) = fields.next_field()? {
        match field {
            1 => mark.conf_state = Some(ConfState::decode(value.bytes(1)?)?),
            2 => mark.index = value.varint(2)?,
            3 => mark.term = value.varint(3)?,
            _ => {}
        }
    }
    Ok(mark)
}
