//! A file that somebody else is still writing, front to back, read as far as it is there.

use bbolt::Cancel;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How late a reader that waits notices that it was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// How much of a file is there, told by its writer. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Arrival(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Bytes from the front that may be read; all of them once it is complete.
    bytes: Mutex<u64>,
    more: Condvar,
}

impl Arrival {
    /// Of a file that is there.
    #[must_use]
    pub fn complete() -> Self {
        let arrival = Self::default();
        arrival.finish();
        arrival
    }

    /// So many bytes from the front are there.
    pub fn advance(&self, bytes: u64) {
        let mut known = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *known = bytes.max(*known);
        self.0.more.notify_all();
    }

    /// All of it is there.
    pub fn finish(&self) {
        self.advance(u64::MAX);
    }

    /// Waits until there is more than `position`, or all; returns how much there is.
    pub(crate) fn beyond(&self, position: u64, cancel: &Cancel) -> io::Result<u64> {
        let mut bytes = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *bytes <= position {
            cancel.check().map_err(io::Error::other)?;
            let waited = self.0.more.wait_timeout(bytes, CANCEL_POLL);
            bytes = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(*bytes)
    }
}

/// Reads to the end, and waits for what is not there yet.
pub(crate) struct ArrivingFile {
    pub(crate) file: File,
    pub(crate) arrival: Arrival,
    pub(crate) cancel: Cancel,
    pub(crate) position: u64,
}

impl Read for ArrivingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.arrival.beyond(self.position, &self.cancel)?;
        let allowed = there.saturating_sub(self.position).min(buffer.len() as u64);
        let count = (&self.file).take(allowed).read(buffer)?;
        self.position = self.position.saturating_add(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_reader_never_overtakes_the_writer() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let mut writer = path.reopen().unwrap();
        // As a preallocated file: what is not there yet reads as zeros.
        writer.set_len(3_000_000).unwrap();
        let arrival = Arrival::default();
        let mut reader = ArrivingFile {
            file: File::open(path.path()).unwrap(),
            arrival: arrival.clone(),
            cancel: Cancel::never(),
            position: 0,
        };
        let writing = std::thread::spawn(move || {
            for piece in 1..=30u64 {
                writer.write_all(&[7; 100_000]).unwrap();
                arrival.advance(piece * 100_000);
                std::thread::sleep(Duration::from_millis(1));
            }
            arrival.finish();
        });
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        writing.join().unwrap();
        assert!(bytes.len() == 3_000_000 && bytes.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn waiting_ends_with_the_cancel() {
        let cancel = Cancel::new();
        cancel.cancel();
        assert!(Arrival::default().beyond(0, &cancel).is_err());
    }
}
