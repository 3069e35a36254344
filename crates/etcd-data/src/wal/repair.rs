//! Cutting off a torn tail, as etcd does at boot: the last file alone is read, copied to `<name>.broken`, and
//! truncated behind its last whole record. Nothing is cut that is not torn.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::member_dir::sync_dir;
use crate::wal::decoder::{Decoder, Step, Torn, max_record_bytes};
use crate::wal::names::list_wal;

/// Broken copies of earlier repairs that are kept beside the new one.
const MAX_BROKEN_COPIES: usize = 100;

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The file that was cut.
    pub file: PathBuf,
    /// Its bytes now.
    pub kept_bytes: u64,
    /// Bytes behind the last whole record, zeros of the preallocated file included.
    pub cut_bytes: u64,
    /// The file as it was.
    pub broken_copy: PathBuf,
}

/// `minor` of the etcd 3 that wrote it. `None`: nothing is torn. Damage is no torn tail and is an error.
pub fn repair(wal_dir: &Path, minor: Option<u32>) -> Result<Option<Repaired>> {
    let names = list_wal(wal_dir)?;
    let Some(last) = names.files.last() else {
        return Err(Error::corrupt(format!(
            "{}: there is no WAL file",
            wal_dir.display()
        )));
    };
    let mut decoder = Decoder::new(std::slice::from_ref(last), max_record_bytes(minor));
    let torn = loop {
        match decoder.step()? {
            Step::Record(_) => {}
            Step::End => return Ok(None),
            Step::Torn(torn) => break torn,
        }
    };
    let broken_copy = keep_copy(&last.path)?;
    sync_dir(wal_dir)?;
    cut(&last.path, &torn)?;
    Ok(Some(Repaired {
        file: last.path.clone(),
        kept_bytes: torn.offset,
        cut_bytes: torn.file_bytes.saturating_sub(torn.offset),
        broken_copy,
    }))
}

/// The copy is on disk before anything is cut.
fn keep_copy(path: &Path) -> Result<PathBuf> {
    let failed = |e| Error::io("copy", path, e);
    let (copy, mut file) = create_copy(path)?;
    let mut source = File::open(path).map_err(failed)?;
    io::copy(&mut source, &mut file).map_err(failed)?;
    file.sync_all().map_err(|e| Error::io("sync", &copy, e))?;
    Ok(copy)
}

fn create_copy(path: &Path) -> Result<(PathBuf, File)> {
    for number in 1..=MAX_BROKEN_COPIES {
        let mut name = path.as_os_str().to_owned();
        name.push(".broken");
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let copy = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                let file = made.map_err(|e| Error::io("create", &copy, e))?;
                return Ok((copy, file));
            }
        }
    }
    Err(Error::Exists {
        path: path.to_path_buf(),
        hint: "too many broken copies lie beside it; move them away",
    })
}

fn cut(path: &Path, torn: &Torn) -> Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(|e| Error::io("open", path, e))?;
    file.set_len(torn.offset)
        .and_then(|()| file.sync_all())
        .map_err(|e| Error::io("cut", path, e))
}
