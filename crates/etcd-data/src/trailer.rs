//! The SHA-256 that etcd appends to a snapshot, and what else a length tells.
//!
//! `etcdctl snapshot save` writes whole pages and then 32 bytes: SHA-256 of all before. A page is at least 1024 bytes,
//! so a length of 512n + 32 has a trailer, 512n is a copy of a data directory's db, anything else was cut.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bbolt::Cancel;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::foreign::{FileKind, identify};

/// Bytes of the trailer.
pub const TRAILER_BYTES: u64 = 32;
const SECTOR_BYTES: u64 = 512;
/// Read at once; cancel and progress are looked at between two reads.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A database file as its length presents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the database itself.
    pub data_bytes: u64,
    /// Whether a trailer follows.
    pub has_trailer: bool,
}

/// A file whose bytes were all read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrailerCheck {
    /// Bytes of the database itself.
    pub data_bytes: u64,
    /// SHA-256 of these bytes.
    pub sha256: [u8; 32],
    /// Whether a trailer stood there and agreed; `false` is possible only when its absence was allowed.
    pub verified: bool,
}

/// Whether a file without a trailer is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingTrailer {
    /// It was cut off, or never was a snapshot.
    Refuse,
    /// The user said so: a copy of `member/snap/db`.
    Allow,
}

/// Tells database and trailer apart by the length; says what the file is when it is no database at all.
pub fn layout(path: &Path, missing: MissingTrailer) -> Result<Layout> {
    if let FileKind::Foreign(what) = identify(path)? {
        return Err(Error::Unsupported {
            what: format!("{}: not an etcd snapshot: it is {what}", path.display()),
        });
    }
    let bytes = path
        .metadata()
        .map_err(|e| Error::io("look at", path, e))?
        .len();
    let cut = |what: String| {
        Err(Error::Truncated {
            what: format!("{}: {what}", path.display()),
        })
    };
    match (bytes % SECTOR_BYTES, missing) {
        (TRAILER_BYTES, _) => Ok(Layout {
            data_bytes: bytes.saturating_sub(TRAILER_BYTES),
            has_trailer: true,
        }),
        (0, MissingTrailer::Allow) => Ok(Layout {
            data_bytes: bytes,
            has_trailer: false,
        }),
        (0, MissingTrailer::Refuse) => cut(
            "no SHA-256 at its end: a snapshot that was cut off, or a copy of member/snap/db; \
             for such a copy pass --skip-hash-check"
                .into(),
        ),
        _ => cut(format!(
            "{bytes} bytes are neither whole pages nor whole pages and a SHA-256; it was cut off"
        )),
    }
}

/// Reads the whole file once and compares the trailer. `progress` gets the bytes read so far.
pub fn check_trailer(
    path: &Path,
    missing: MissingTrailer,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<TrailerCheck> {
    let Layout {
        data_bytes,
        has_trailer,
    } = layout(path, missing)?;
    let mut file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    let sha256 = digest_of(&mut file, path, data_bytes, cancel, progress)?;
    if has_trailer {
        let mut stated = [0; 32];
        file.read_exact(&mut stated)
            .map_err(|e| Error::io("read", path, e))?;
        if stated != sha256 {
            let what = format!(
                "{}: its SHA-256 does not agree with its content; take another backup",
                path.display()
            );
            return Err(Error::Checksum { what });
        }
    }
    Ok(TrailerCheck {
        data_bytes,
        sha256,
        verified: has_trailer,
    })
}

fn digest_of(
    file: &mut File,
    path: &Path,
    bytes: u64,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<[u8; 32]> {
    let mut sha = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut done = 0u64;
    while done < bytes {
        cancel.check()?;
        let want = usize::try_from(bytes.saturating_sub(done))
            .unwrap_or(CHUNK_BYTES)
            .min(CHUNK_BYTES);
        let part = chunk.get_mut(..want).unwrap_or_default();
        file.read_exact(part)
            .map_err(|e| Error::io("read", path, e))?;
        sha.update(part);
        done = done.saturating_add(want as u64);
        progress(done);
    }
    Ok(sha.finalize().into())
}
