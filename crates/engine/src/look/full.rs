//! An open full: a plain database, a seekable container, or a copy that was unpacked for the time of the look.

use crate::look::spill::fresh_name;
use crate::{Error, Result};
use bbolt::{Cancel, Db, FileLock};
use etcd_data::Meta;
use etcd_data::inspect::{LastRecord, last_record, last_record_at};
use etcd_data::records::record_range;
use pack::{Codec, SeekableFile, UnpackOptions, unpack};
use std::fs::remove_file;
use std::path::Path;

/// No etcd holds more; what unpacks to more is no snapshot.
const MAX_PLAIN_BYTES: u64 = 1 << 40;

/// A full that can be read at any place.
pub struct Full {
    pub(crate) db: Db,
    /// Reading here and there costs whole frames.
    pub(crate) seekable: Option<SeekableFile>,
    facts: FullFacts,
    _lock: Option<FileLock>,
}

/// What a look needs to know of a full before it reads records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullFacts {
    /// The store's revision.
    pub revision: i64,
    /// Records up to here may be compacted away; -1 when none ever were.
    pub compacted: i64,
}

impl Full {
    /// Opens a full that is packed with `codec`. Only a plain database and a seekable `.zst` are read where they lie; what
    /// else is unpacked goes to `temp_dir`, under a name that is gone when this returns.
    pub fn open(path: &Path, codec: Codec, temp_dir: &Path, cancel: &Cancel) -> Result<Self> {
        let seekable = match codec {
            Codec::Zstd => SeekableFile::open(path)?,
            _ => None,
        };
        let db = match (&seekable, codec) {
            (Some(file), _) => Db::open_in(Box::new(file.clone()), path)?,
            (None, Codec::None) => Db::open(path)?,
            (None, _) => open_unpacked(path, codec, temp_dir, cancel)?,
        };
        Self::of(db, seekable)
    }

    /// A database that an etcd may have open: LOCKED then, and no etcd opens it while it is read.
    pub fn open_unused(path: &Path) -> Result<Self> {
        let lock = FileLock::share(path)?;
        let full = Self::of(Db::open(path)?, None)?;
        Ok(Self {
            _lock: lock,
            ..full
        })
    }

    fn of(db: Db, seekable: Option<SeekableFile>) -> Result<Self> {
        Ok(Self {
            facts: read_facts(&db)?,
            db,
            seekable,
            _lock: None,
        })
    }

    /// The last record of one main revision, or of all: it tells one history from another.
    pub fn last_record(&self, main: Option<i64>) -> Result<Option<LastRecord>> {
        Ok(match main {
            Some(main) => last_record_at(&self.db, main)?,
            None => last_record(&self.db)?,
        })
    }

    /// Revisions.
    #[must_use]
    pub fn facts(&self) -> FullFacts {
        self.facts
    }
}

fn open_unpacked(path: &Path, codec: Codec, temp_dir: &Path, cancel: &Cancel) -> Result<Db> {
    let target = fresh_name(temp_dir);
    let options = UnpackOptions {
        arrival: pack::Arrival::complete(),
        source: path,
        target: &target,
        codec,
        strip_trailer: false,
        max_bytes: MAX_PLAIN_BYTES,
    };
    unpack(&options, cancel)?;
    let opened = Db::open(&target);
    remove_file(&target)
        .map_err(|source| Error::Data(etcd_data::Error::io("remove", &target, source)))?;
    Ok(opened?)
}

fn read_facts(db: &Db) -> Result<FullFacts> {
    let compacted = Meta::read(db)?.removed_up_to();
    let last = record_range(db)?.map_or(0, |(_, last)| last.main);
    Ok(FullFacts {
        revision: last.max(compacted).max(1),
        compacted,
    })
}
