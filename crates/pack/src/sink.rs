//! Intake of etcd's snapshot stream: messages come in on the caller's thread, everything that touches their
//! bytes happens on two threads of the sink.
//!
//! ```text
//! push(message) -> queue -> intake thread: parse, raw file, digest -> pack thread: compress, digest, write
//! ```

use crate::digest::{Sha256Digest, TailDigest, Trailer};
use crate::pack::{Packed, Packer};
use crate::queue::{Flow, Queue};
use crate::snapshot_response::parse;
use crate::{Codec, Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

const CHUNK_BYTES: usize = 512 * 1024;
const MAX_WAITING_CHUNKS: usize = 4;

/// Where the stream goes.
#[derive(Debug, Clone)]
pub struct SinkOptions {
    /// The plain snapshot, for checks that need random access; must not exist.
    pub raw_path: PathBuf,
    /// The packed snapshot, to be published; must not exist.
    pub packed_path: PathBuf,
    /// How to pack.
    pub codec: Codec,
}

/// A stream that arrived whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkSummary {
    /// Length of the plain snapshot with its trailer.
    pub plain_bytes: u64,
    /// Digest of the database, equal to the trailer.
    pub db_sha256: Sha256Digest,
    /// The packed file.
    pub packed: Packed,
}

/// The intake. Dropping it without [`Sink::finish`] stops the threads; the caller removes the files.
pub struct Sink {
    queue: Arc<Queue>,
    intake: Option<JoinHandle<Result<SinkSummary>>>,
}

impl Sink {
    /// Creates both files and starts the threads.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn start(options: SinkOptions) -> Result<Self> {
        let raw = File::create_new(&options.raw_path)
            .map_err(Error::io(format!("create {}", options.raw_path.display())))?;
        let packer = Packer::create(&options.packed_path, options.codec)?;
        let queue = Arc::new(Queue::default());
        let shared = Arc::clone(&queue);
        let intake = thread::spawn(move || {
            let result = take_in(&shared, raw, &options, packer);
            shared.end();
            result
        });
        Ok(Self {
            queue,
            intake: Some(intake),
        })
    }

    /// Takes one `SnapshotResponse` as it came off the wire. Never blocks.
    pub fn push(&self, message: Vec<u8>) -> Flow {
        self.queue.push(message)
    }

    /// A handle for waiting on another thread.
    pub fn drain_handle(&self) -> impl FnOnce() + Send + 'static {
        self.queue.drain_handle()
    }

    /// Ends the stream and waits for both threads. The caller says that the stream ended without an error.
    ///
    /// # Errors
    /// [`Error::Truncated`] when bytes or the trailer are missing, [`Error::Checksum`] when the trailer does not
    /// fit, [`Error::Io`].
    pub fn finish(mut self) -> Result<SinkSummary> {
        self.queue.close(false);
        let intake = self.intake.take();
        let result = intake.and_then(|handle| handle.join().ok());
        result.unwrap_or_else(|| Err(Error::Corrupt("the intake thread died".to_owned())))
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.queue.close(true);
        if let Some(intake) = self.intake.take() {
            let _ = intake.join();
        }
    }
}

fn take_in(queue: &Queue, raw: File, options: &SinkOptions, packer: Packer) -> Result<SinkSummary> {
    let (chunks, waiting) = sync_channel::<Vec<u8>>(MAX_WAITING_CHUNKS);
    let packing = thread::spawn(move || {
        let mut packer = packer;
        for chunk in waiting {
            packer.write(&chunk)?;
        }
        packer.finish()
    });
    let taken = write_raw(queue, raw, options, chunks);
    let packed = packing
        .join()
        .map_err(|_| Error::Corrupt("the packing thread died".to_owned()))?;
    // A packer that failed closes the channel: its reason is the one to report.
    let packed = packed?;
    let (plain_bytes, db_sha256) = taken?;
    Ok(SinkSummary {
        plain_bytes,
        db_sha256,
        packed,
    })
}

fn write_raw(
    queue: &Queue,
    mut raw: File,
    options: &SinkOptions,
    chunks: SyncSender<Vec<u8>>,
) -> Result<(u64, Sha256Digest)> {
    let path = options.raw_path.display();
    let mut digest = TailDigest::default();
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    let mut remaining = None;
    while let Some(message) = queue.pop() {
        let response = parse(&message)?;
        remaining = Some(response.remaining_bytes);
        digest.update(response.blob);
        chunk.extend_from_slice(response.blob);
        if chunk.len() >= CHUNK_BYTES {
            raw.write_all(&chunk)
                .map_err(Error::io(format!("write {path}")))?;
            let full = std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK_BYTES));
            if chunks.send(full).is_err() {
                return Err(Error::Corrupt("the packing thread stopped".to_owned()));
            }
        }
    }
    raw.write_all(&chunk)
        .map_err(Error::io(format!("write {path}")))?;
    let packer_lives = chunks.send(chunk).is_ok();
    if queue.is_aborted() || !packer_lives {
        return Err(Error::Truncated("the stream was given up".to_owned()));
    }
    whole(digest, remaining)
}

/// The stream's own proof: nothing remains, and the trailer is the digest of what came before it.
fn whole(digest: TailDigest, remaining: Option<u64>) -> Result<(u64, Sha256Digest)> {
    let bytes = digest.bytes();
    if let Some(left @ 1..) = remaining {
        return Err(Error::Truncated(format!(
            "the snapshot stream ended {left} bytes before its end"
        )));
    }
    match digest.finish() {
        (sha256, Trailer::Good) => Ok((bytes, sha256)),
        (_, Trailer::Missing) => Err(Error::Truncated(format!(
            "the snapshot stream ended after {bytes} bytes without the SHA-256 that closes it"
        ))),
        (_, Trailer::Wrong) => Err(Error::Checksum(format!(
            "the SHA-256 at the end of the snapshot stream does not fit its {bytes} bytes"
        ))),
    }
}
