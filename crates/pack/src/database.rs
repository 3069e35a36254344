use crate::digest::Sha256Digest;
use crate::pack::{Packed, Packer};
use crate::{Codec, Error, Result};
use bbolt::Cancel;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Bytes that pass from the digesting to the compressing thread at a time, and how many may wait.
const CHUNK_BYTES: usize = 1024 * 1024;
const MAX_WAITING_CHUNKS: usize = 4;

/// A database that became a full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedDatabase {
    /// Length of the snapshot with its trailer.
    pub plain_bytes: u64,
    /// Digest of the database: the trailer.
    pub db_sha256: Sha256Digest,
    /// The packed file.
    pub packed: Packed,
}

/// Packs a bare database as a full: its bytes, then their SHA-256 as `etcdctl snapshot save` appends it. The new file
/// `target` is removed on failure. Two threads: one reads and digests, one compresses. Memory: a few MiB. `progress` is
/// told the bytes read.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`].
pub fn pack_database(
    source: &Path,
    target: &Path,
    codec: Codec,
    cancel: &Cancel,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<PackedDatabase> {
    let file = File::open(source).map_err(Error::io(format!("open {}", source.display())))?;
    let mut packer = Packer::create(target, codec)?;
    let (chunks, waiting) = sync_channel::<Vec<u8>>(MAX_WAITING_CHUNKS);
    let result = thread::scope(|scope| {
        let reading = scope.spawn(|| read(file, source, chunks, cancel, progress));
        // A reader that failed ends the channel; its reason is the one to report.
        let written = waiting.iter().try_for_each(|chunk| packer.write(&chunk));
        drop(waiting);
        let read = reading
            .join()
            .map_err(|_| Error::Corrupt("the reading thread died".to_owned()))?;
        written?;
        let (bytes, db_sha256) = read?;
        packer.write(&db_sha256)?;
        Ok(PackedDatabase {
            plain_bytes: bytes.saturating_add(db_sha256.len() as u64),
            db_sha256,
            packed: packer.finish()?,
        })
    });
    if result.is_err() {
        let _ = std::fs::remove_file(target);
    }
    result
}

fn read(
    mut file: File,
    path: &Path,
    chunks: SyncSender<Vec<u8>>,
    cancel: &Cancel,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(u64, Sha256Digest)> {
    let (mut digest, mut bytes) = (Sha256::new(), 0u64);
    loop {
        cancel.check()?;
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        file.by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut chunk)
            .map_err(Error::io(format!("read {}", path.display())))?;
        if chunk.is_empty() {
            return Ok((bytes, digest.finalize().into()));
        }
        digest.update(&chunk);
        bytes = bytes.saturating_add(chunk.len() as u64);
        progress(bytes);
        if chunks.send(chunk).is_err() {
            return Ok((bytes, digest.finalize().into()));
        }
    }
}
