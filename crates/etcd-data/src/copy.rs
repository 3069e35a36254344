//! Copies a database without what follows it: trailer, or space that was grown ahead.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bbolt::{Cancel, Db};

use crate::error::{Error, Result};

/// etcd's mode for `snap/db`.
const DB_MODE: u32 = 0o600;
/// Copied between two looks at the cancel flag; the kernel moves the bytes.
const CHUNK_BYTES: u64 = 16 << 20;

/// Writes a new file of exactly high-water mark times page size bytes. `progress` gets the bytes copied so far.
pub fn copy_db(
    from: &Path,
    to: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let db = Db::open(from)?;
    let bytes = db.high_water().saturating_mul(u64::from(db.page_size()));
    let mut source = File::open(from).map_err(|e| Error::io("open", from, e))?;
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(DB_MODE)
        .open(to)
        .map_err(|e| Error::io("create", to, e))?;
    let mut done = 0u64;
    while done < bytes {
        cancel.check()?;
        let want = bytes.saturating_sub(done).min(CHUNK_BYTES);
        let got = io::copy(&mut source.by_ref().take(want), &mut copy)
            .map_err(|e| Error::io("copy to", to, e))?;
        if got != want {
            return Err(Error::Truncated {
                what: format!("{}: became shorter while it was copied", from.display()),
            });
        }
        done = done.saturating_add(got);
        progress(done);
    }
    Ok(bytes)
}
