//! The lock that bbolt itself takes: flock, exclusive, for as long as the file is open.

use crate::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A flock, held until it is dropped or the process ends.
pub struct FileLock {
    _lock: Lock,
}

impl FileLock {
    /// Takes the lock of an existing file, without waiting. [`Error::Locked`] names the holder.
    pub fn acquire(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        Ok(Self {
            _lock: exclusive(&file, path)?,
        })
    }

    /// Keeps writers away while the file is read, and is refused where one has it open; other readers may share it.
    /// `None` where the file system has no locks.
    pub fn share(path: &Path) -> Result<Option<Self>> {
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        match take(&file, path, FlockOperation::NonBlockingLockShared) {
            Ok(lock) => Ok(Some(Self { _lock: lock })),
            Err(Error::Io { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Held until it is dropped. Closing the file would not do: a child that this process is just starting has a copy of
/// the descriptor for a moment, and keeps the lock with it.
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

pub(crate) fn exclusive(file: &File, path: &Path) -> Result<Lock> {
    take(file, path, FlockOperation::NonBlockingLockExclusive)
}

fn take(file: &File, path: &Path, operation: FlockOperation) -> Result<Lock> {
    let own = file
        .try_clone()
        .map_err(|error| Error::io("open", path, error))?;
    match flock(file, operation) {
        Ok(()) => Ok(Lock(own)),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let holder = file.metadata().ok().and_then(|stat| holder(stat.ino()));
            Err(Error::Locked {
                path: path.to_owned(),
                holder,
            })
        }
        Err(error) => Err(Error::io("lock", path, error.into())),
    }
}

fn holder(inode: u64) -> Option<u32> {
    parse_holder(&std::fs::read_to_string("/proc/locks").ok()?, inode)
}

/// A line is `1: FLOCK  ADVISORY  WRITE 4711 fd:00:1234 0 EOF`: process, then device and inode. The device is not
/// compared: file systems show another one here than in stat.
fn parse_holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let pid = words.nth(2)?;
        let place = words.next()?;
        let matches = kind == "FLOCK" && place.rsplit(':').next()?.parse() == Ok(inode);
        if matches { pid.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_found_among_other_locks() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fd:00:77 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 12 fd:00:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 4711 fd:00:77 0 EOF\n";
        assert_eq!(parse_holder(locks, 77), Some(4711));
        assert_eq!(parse_holder(locks, 78), None);
        assert_eq!(parse_holder("nonsense", 78), None);
    }
}
