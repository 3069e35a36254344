//! What Node's `fs` lacks: flock, atomic exchange, sync of a tree, digest of a file.

use crate::control::JobControl;
use crate::convert::{hex, to_number};
use crate::error::{Failure, Outcome, SyncError};
use crate::job;
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use pack::HashingReader;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const READ_BYTES: usize = 1024 * 1024;

/// An exclusive flock, as bbolt takes it; released by `release`, by garbage collection, or with the process.
#[napi]
pub struct FileLock {
    lock: Option<bbolt::FileLock>,
}

#[napi]
impl FileLock {
    /// Does not wait: LOCKED names the holder. JavaScript thread.
    #[napi(constructor)]
    pub fn new(path: String) -> Result<Self, SyncError> {
        let lock = bbolt::FileLock::acquire(Path::new(&path)).map_err(Failure::from)?;
        Ok(Self { lock: Some(lock) })
    }

    #[napi]
    pub fn release(&mut self) {
        self.lock = None;
    }
}

/// Exchanges two paths of one file system atomically (renameat2 RENAME_EXCHANGE). UNSUPPORTED where the file system
/// or the kernel has no such call. JavaScript thread.
#[napi]
pub fn exchange_paths(a: String, b: String) -> Result<(), SyncError> {
    use rustix::io::Errno;
    let done = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
    done.map_err(|errno| {
        let code = match errno {
            Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::XDEV | Errno::BUSY => {
                "UNSUPPORTED"
            }
            _ => {
                return Failure::io(&format!("exchange {a} and {b}"), &io::Error::from(errno))
                    .into();
            }
        };
        Failure::new(code, format!("exchange {a} and {b}: {errno}")).into()
    })
}

/// Syncs every file and directory below `path`, inner before outer. Own thread.
#[napi(ts_return_type = "Promise<void>")]
pub fn sync_tree(env: &Env, path: String) -> napi::Result<Object<'_>> {
    job::spawn(env, "sync-tree", move || sync_below(Path::new(&path)))
}

fn sync_below(path: &Path) -> Outcome<()> {
    let failed = |error: io::Error| Failure::io(&format!("sync {}", path.display()), &error);
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() || kind.is_file() {
                sync_below(&entry.path())?;
            }
        }
    }
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(failed)
}

/// Length and SHA-256 of a file.
#[napi(object)]
pub struct FileDigest {
    pub bytes: f64,
    /// Lower case hex.
    pub sha256: String,
}

/// Reads a file once. Progress in bytes. Own thread.
#[napi(ts_return_type = "Promise<FileDigest>")]
pub fn hash_file<'env>(
    env: &'env Env,
    path: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "hash-file", move || {
        let path = PathBuf::from(path);
        let failed = |error: io::Error| Failure::io(&format!("read {}", path.display()), &error);
        let mut reader = HashingReader::new(File::open(&path).map_err(failed)?);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            cancel.check().map_err(pack::Error::from)?;
            let count = reader.read(&mut buffer).map_err(failed)?;
            if count == 0 {
                break;
            }
            done.fetch_add(count as u64, std::sync::atomic::Ordering::Relaxed);
        }
        let (bytes, sha256) = reader.finish();
        Ok(FileDigest {
            bytes: to_number(bytes),
            sha256: hex(&sha256),
        })
    })
}
