//! A packed full that is unpacked while it arrives, without lying on disk as it came.
//!
//! ```text
//! push(piece) -> queue -> unpack thread: digest, decompress -> write thread: digest, write
//! ```

use crate::arrival::Arrival;
use crate::queue::{Flow, Queue};
use crate::unpack::{Later, UnpackOptions, Unpacked, expect_signature, run};
use crate::{Codec, Error, Result};
use bbolt::Cancel;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Enough to tell one codec from another.
const SIGNATURE_BYTES: u64 = 4;

/// What arrives, and where it goes.
#[derive(Debug, Clone)]
pub struct UnpackSinkOptions {
    /// What errors call it.
    pub name: String,
    /// The plain file to create; it must not exist. It is not synced.
    pub target: PathBuf,
    /// How it is packed.
    pub codec: Codec,
    /// The target may not become longer than this.
    pub max_bytes: u64,
}

/// Dropping it without [`UnpackSink::finish`] stops the threads and removes the target.
pub struct UnpackSink {
    queue: Arc<Queue>,
    work: Option<JoinHandle<Result<Unpacked>>>,
}

impl UnpackSink {
    /// Creates the target and starts the threads.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn start(options: UnpackSinkOptions) -> Result<Self> {
        let target = File::create_new(&options.target)
            .map_err(Error::io(format!("create {}", options.target.display())))?;
        let queue = Arc::new(Queue::default());
        let shared = Arc::clone(&queue);
        let work = thread::spawn(move || {
            let result = take_in(&shared, target, &options);
            shared.end();
            if result.is_err() {
                let _ = std::fs::remove_file(&options.target);
            }
            result
        });
        Ok(Self {
            queue,
            work: Some(work),
        })
    }

    /// Takes the next bytes. Never blocks.
    pub fn push(&self, piece: Vec<u8>) -> Flow {
        self.queue.push(piece)
    }

    /// A handle for waiting on another thread.
    pub fn drain_handle(&self) -> impl FnOnce() + Send + 'static {
        self.queue.drain_handle()
    }

    /// Nothing more comes: waits for both threads.
    ///
    /// # Errors
    /// As of [`crate::unpack`].
    pub fn finish(mut self) -> Result<Unpacked> {
        self.queue.close(false);
        let result = self.work.take().and_then(|work| work.join().ok());
        result.unwrap_or_else(|| Err(Error::Corrupt("the unpacking thread died".to_owned())))
    }
}

impl Drop for UnpackSink {
    fn drop(&mut self) {
        self.queue.close(true);
        if let Some(work) = self.work.take() {
            let _ = work.join();
        }
    }
}

fn take_in(queue: &Arc<Queue>, target: File, options: &UnpackSinkOptions) -> Result<Unpacked> {
    let what = UnpackOptions {
        source: Path::new(&options.name),
        arrival: Arrival::complete(),
        target: &options.target,
        codec: options.codec,
        strip_trailer: false,
        max_bytes: options.max_bytes,
    };
    let mut arriving = Arriving {
        queue: Arc::clone(queue),
        piece: Vec::new(),
        taken: 0,
    };
    let mut head = Vec::new();
    arriving
        .by_ref()
        .take(SIGNATURE_BYTES)
        .read_to_end(&mut head)
        .map_err(Error::io(format!("read {}", options.name)))?;
    expect_signature(&head, &what)?;
    let source = head.as_slice().chain(arriving);
    // It is stopped by what arrives: a queue that is given up ends the reading.
    run(&what, source, target, Later::Removed, &Cancel::never())
}

/// The queue as a reader. A queue that was given up is an error, so that nobody takes its end for that of the object.
struct Arriving {
    queue: Arc<Queue>,
    piece: Vec<u8>,
    taken: usize,
}

impl Read for Arriving {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken >= self.piece.len() {
            match self.queue.pop() {
                Some(piece) => (self.piece, self.taken) = (piece, 0),
                None if self.queue.is_aborted() => {
                    return Err(io::Error::new(io::ErrorKind::BrokenPipe, "it was given up"));
                }
                None => return Ok(0),
            }
        }
        let rest = self.piece.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken = self.taken.saturating_add(count);
        Ok(count)
    }
}
