//! What a file is, by its first bytes: for files that are named without the name of an object.

use crate::{Error, Result};
use bbolt::Db;
use delta::{DeltaFile, Format};
use pack::{Codec, decoder};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const FRONT_BYTES: u64 = 64;

/// What can be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupKind {
    /// A database, packed so.
    Full(Codec),
    /// A delta of either format.
    Delta,
}

/// Tells a full from a delta. UNSUPPORTED for what is neither.
pub fn identify(path: &Path) -> Result<BackupKind> {
    let front = front_of(Codec::None, path)?;
    if let Some(codec) = Codec::sniff(&front) {
        let inner = front_of(codec, path)?;
        return Ok(if is_json(&inner) {
            BackupKind::Delta
        } else {
            BackupKind::Full(codec)
        });
    }
    if is_json(&front) || DeltaFile::open(path).is_ok_and(|file| file.format() == Format::Ebd) {
        return Ok(BackupKind::Delta);
    }
    match Db::open(path) {
        // Not even damaged: lzw has no signature, so it is tried last.
        Err(error @ bbolt::Error::NoMeta { .. }) => of_lzw(path).ok_or(Error::Bbolt(error)),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(BackupKind::Full(Codec::None)),
    }
}

fn of_lzw(path: &Path) -> Option<BackupKind> {
    let inner = front_of(Codec::Lzw, path).ok()?;
    if is_json(&inner) {
        return Some(BackupKind::Delta);
    }
    // Page 0: its id, the flags of a meta page.
    let is_page_0 = inner.starts_with(&[0; 8]) && inner.get(8..10) == Some(&[4, 0]);
    is_page_0.then_some(BackupKind::Full(Codec::Lzw))
}

fn is_json(front: &[u8]) -> bool {
    front.trim_ascii_start().starts_with(b"[")
}

fn front_of(codec: Codec, path: &Path) -> Result<Vec<u8>> {
    let failed = |op| move |source| Error::Data(etcd_data::Error::io(op, path, source));
    let file = File::open(path).map_err(failed("open"))?;
    let mut front = Vec::new();
    decoder(codec, file)?
        .take(FRONT_BYTES)
        .read_to_end(&mut front)
        .map_err(failed("read"))?;
    Ok(front)
}
