//! Frames in order, decompressed ahead by a few threads: thread `t` of `n` takes the frames t, t+n, t+2n, …

use crate::seekable_file::{FrameReader, Packed};
use bbolt::Chunks;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Finished frames that one thread may have waiting, besides the one that it works at.
const WAITING_FRAMES: usize = 1;

type Decompressed = io::Result<Vec<u8>>;

/// All plain bytes of a seekable `.zst`, front to back. Memory: three frames a thread. Dropping it ends the threads.
pub struct FramesAhead {
    frames: usize,
    next: usize,
    waiting: Vec<Receiver<Decompressed>>,
    threads: Vec<JoinHandle<()>>,
    spare: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl FramesAhead {
    pub(crate) fn start(packed: Arc<Packed>, threads: usize) -> io::Result<Self> {
        let threads = threads.max(1);
        let mut ahead = Self {
            frames: packed.table.frames().len(),
            next: 0,
            waiting: Vec::new(),
            threads: Vec::new(),
            spare: Arc::default(),
        };
        for first in 0..threads {
            let (sender, receiver) = sync_channel(WAITING_FRAMES);
            let mine = (first..ahead.frames).step_by(threads);
            let (packed, spare) = (Arc::clone(&packed), Arc::clone(&ahead.spare));
            let work = move || decompress(&packed, mine, &spare, &sender);
            ahead.waiting.push(receiver);
            ahead
                .threads
                .push(Builder::new().name("frames".to_owned()).spawn(work)?);
        }
        Ok(ahead)
    }
}

impl Chunks for FramesAhead {
    fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        while self.next < self.frames {
            let thread = self.next % self.waiting.len().max(1);
            self.next += 1;
            let arrived = self.waiting.get(thread).map(Receiver::recv);
            let Some(Ok(frame)) = arrived else {
                return Err(io::Error::other("a decompressing thread died"));
            };
            let frame = frame?;
            if !frame.is_empty() {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    fn give_back(&mut self, chunk: Vec<u8>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < self.waiting.len() {
            spare.push(chunk);
        }
    }
}

impl Drop for FramesAhead {
    fn drop(&mut self) {
        // Whoever waits to hand a frame over sees that nobody takes it.
        self.waiting.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn decompress(
    packed: &Packed,
    mine: impl Iterator<Item = usize>,
    spare: &Mutex<Vec<Vec<u8>>>,
    sender: &SyncSender<Decompressed>,
) {
    let mut reader = match FrameReader::new() {
        Ok(reader) => reader,
        Err(error) => {
            let _ = sender.send(Err(error));
            return;
        }
    };
    for index in mine {
        let mut plain = spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default();
        let frame = reader.read(packed, index, &mut plain).map(|()| plain);
        let is_last = frame.is_err();
        if sender.send(frame).is_err() || is_last {
            return;
        }
    }
}
