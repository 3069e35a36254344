use crate::arrival::{Arrival, ArrivingFile};
use crate::digest::{HashingReader, Sha256Digest, TRAILER_BYTES, TailDigest, Trailer};
use crate::{Codec, Error, Result, decoder};
use bbolt::Cancel;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Plain bytes that pass from the decompressing to the writing thread at a time, and how many may wait.
const CHUNK_BYTES: usize = 1024 * 1024;
const MAX_WAITING_CHUNKS: usize = 4;
/// The disk is set to work on what is written each time so much is new, so that whoever syncs the file later need not
/// wait for all of it.
const WRITE_BACK_BYTES: u64 = 64 * 1024 * 1024;

/// What to unpack.
#[derive(Debug)]
pub struct UnpackOptions<'a> {
    /// The packed file.
    pub source: &'a Path,
    /// How much of it is there: it may still be on its way.
    pub arrival: Arrival,
    /// The plain file to create; it must not exist.
    pub target: &'a Path,
    /// How the source is packed.
    pub codec: Codec,
    /// Leave out a good trailer: the target is then the bare database.
    pub strip_trailer: bool,
    /// The target may not become longer than this (space that was checked before).
    pub max_bytes: u64,
}

/// What was unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Length of the packed file.
    pub packed_bytes: u64,
    /// Digest of the packed file.
    pub packed_sha256: Sha256Digest,
    /// Length of the plain snapshot, a trailer included.
    pub plain_bytes: u64,
    /// Digest of the database without a trailer.
    pub db_sha256: Sha256Digest,
    /// What stood at the end.
    pub trailer: Trailer,
}

/// Decompresses `source` into `target`, with the digests of both. Two threads: one reads, digests and
/// decompresses, the other digests and writes; a third waits for the disk. The target is not synced. Memory: a few MiB.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Truncated`] for bad containers, [`Error::Unsupported`] when the content has the
/// signature of another codec, [`Error::Io`], [`Error::Cancelled`]. The target is removed on failure.
pub fn unpack(options: &UnpackOptions<'_>, cancel: &Cancel) -> Result<Unpacked> {
    let source = ArrivingFile {
        file: open(options.source)?,
        arrival: options.arrival.clone(),
        cancel: cancel.clone(),
        position: 0,
    };
    expect_codec(&source, options)?;
    let file = File::create_new(options.target)
        .map_err(Error::io(format!("create {}", options.target.display())))?;
    let result = run(options, source, file, Later::Synced, cancel);
    if result.is_err() {
        let _ = std::fs::remove_file(options.target);
    }
    result
}

/// What becomes of what was unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Later {
    /// Somebody syncs it: the disk is set to work on it meanwhile.
    Synced,
    /// It is only looked at.
    Removed,
}

pub(crate) fn run(
    options: &UnpackOptions<'_>,
    source: impl Read,
    target: File,
    later: Later,
    cancel: &Cancel,
) -> Result<Unpacked> {
    let (sender, receiver) = sync_channel(MAX_WAITING_CHUNKS);
    let (written, due) = sync_channel(1);
    let failed = |op: &str| Error::io(format!("{op} {}", options.target.display()));
    let same = target.try_clone().map_err(failed("write"))?;
    thread::scope(|scope| {
        let writing = scope.spawn(|| write_plain(options, target, written, receiver));
        let syncing = scope.spawn(move || {
            due.iter().try_for_each(|()| match later {
                Later::Synced => same.sync_data(),
                Later::Removed => Ok(()),
            })
        });
        let read = read_packed(options, source, sender, cancel);
        let wrote = writing
            .join()
            .map_err(|_| Error::Corrupt("the writing thread died".to_owned()))?;
        // A writer that failed closes the channel, which ends the reader without a reason of its own.
        let (digest, trailer, plain_bytes) = wrote?;
        let synced = syncing
            .join()
            .map_err(|_| Error::Corrupt("the syncing thread died".to_owned()))?;
        synced.map_err(failed("sync"))?;
        let (packed_bytes, packed_sha256) = read?;
        Ok(Unpacked {
            packed_bytes,
            packed_sha256,
            plain_bytes,
            db_sha256: digest,
            trailer,
        })
    })
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(Error::io(format!("open {}", path.display())))
}

/// The name promised a codec; content with another one's signature is named as such.
fn expect_codec(source: &ArrivingFile, options: &UnpackOptions<'_>) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let mut head = [0; 4];
    let last = head.len() as u64 - 1;
    let there = source.arrival.beyond(last, &source.cancel);
    let count = there
        .and_then(|_| source.file.read_at(&mut head, 0))
        .map_err(|error| read_error(options, &source.cancel, error))?;
    expect_signature(head.get(..count).unwrap_or_default(), options)
}

/// `head`: the first bytes, at least 4 where there are as many.
pub(crate) fn expect_signature(head: &[u8], options: &UnpackOptions<'_>) -> Result<()> {
    let found = Codec::sniff(head);
    let expected = options.codec;
    let signed = matches!(expected, Codec::Gzip | Codec::Zlib | Codec::Zstd);
    if (signed || expected == Codec::None) && found != Some(expected) && (signed || found.is_some())
    {
        let holds = found.map_or("something else", Codec::name);
        return Err(Error::Corrupt(format!(
            "{} should be packed with {} by its name but holds {holds}",
            options.source.display(),
            expected.name()
        )));
    }
    Ok(())
}

fn read_packed(
    options: &UnpackOptions<'_>,
    source: impl Read,
    chunks: SyncSender<Vec<u8>>,
    cancel: &Cancel,
) -> Result<(u64, Sha256Digest)> {
    let mut hashing = HashingReader::new(source);
    {
        let mut plain = decoder(options.codec, &mut hashing)?;
        loop {
            cancel.check()?;
            let chunk = read_chunk(&mut plain).map_err(|error| match cancel.check() {
                Ok(()) => decode_error(options, error),
                Err(cancelled) => cancelled.into(),
            })?;
            if chunk.is_empty() || chunks.send(chunk).is_err() {
                break;
            }
        }
    }
    // What a decoder does not look at (bytes behind its end) belongs to the object's digest all the same.
    io::copy(&mut hashing, &mut io::sink()).map_err(|error| read_error(options, cancel, error))?;
    Ok(hashing.finish())
}

fn read_error(options: &UnpackOptions<'_>, cancel: &Cancel, error: io::Error) -> Error {
    match cancel.check() {
        Ok(()) => Error::io(format!("read {}", options.source.display()))(error),
        Err(cancelled) => cancelled.into(),
    }
}

fn read_chunk(plain: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    plain.take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
    Ok(chunk)
}

fn decode_error(options: &UnpackOptions<'_>, error: io::Error) -> Error {
    let name = options.source.display();
    let codec = options.codec.name();
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::Truncated(format!("{name} ends in the middle of its {codec} data"))
        }
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            Error::Corrupt(format!("{name} does not decompress ({codec}): {error}"))
        }
        _ => Error::Io {
            context: format!("read {name}"),
            source: error,
        },
    }
}

fn write_plain(
    options: &UnpackOptions<'_>,
    mut target: File,
    written: SyncSender<()>,
    chunks: Receiver<Vec<u8>>,
) -> Result<(Sha256Digest, Trailer, u64)> {
    let path = options.target.display();
    let mut digest = TailDigest::default();
    let mut unsynced = 0_u64;
    for chunk in chunks {
        digest.update(&chunk);
        if digest.bytes() > options.max_bytes {
            let limit = options.max_bytes;
            return Err(Error::Corrupt(format!(
                "{} unpacks to more than {limit} bytes",
                options.source.display()
            )));
        }
        target
            .write_all(&chunk)
            .map_err(Error::io(format!("write {path}")))?;
        unsynced = unsynced.saturating_add(chunk.len() as u64);
        if unsynced >= WRITE_BACK_BYTES && written.try_send(()).is_ok() {
            unsynced = 0;
        }
    }
    let bytes = digest.bytes();
    let (sha256, trailer) = digest.finish();
    if options.strip_trailer && trailer == Trailer::Good {
        target
            .set_len(bytes.saturating_sub(TRAILER_BYTES as u64))
            .map_err(Error::io(format!("truncate {path}")))?;
    }
    Ok((sha256, trailer, bytes))
}
