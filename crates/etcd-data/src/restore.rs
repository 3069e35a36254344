//! `etcdutl snapshot restore`, natively: one snapshot becomes one member's directory.
//!
//! The snapshot is proved before anything is created. The target is built in place and synced; taking it into use in
//! one step is the caller's business.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use bbolt::Cancel;

use crate::bump::bump_revision;
use crate::copy::copy_db;
use crate::error::{Error, Result};
use crate::member_dir::{Cluster, ClusterSpec, Style, write_member_dir};
use crate::seat::{Seat, seat};
use crate::trailer::{MissingTrailer, check_trailer};

/// What the user chose.
#[derive(Debug, Clone)]
pub struct RestoreOptions {
    /// Who the member is.
    pub spec: ClusterSpec,
    /// Whose bytes WAL and raft snapshot follow.
    pub style: Style,
    /// Version that will start, when known.
    pub target: Option<Style>,
    /// `--skip-hash-check`.
    pub missing_trailer: MissingTrailer,
    /// Start without alarms.
    pub clear_alarms: bool,
    /// `--bump-revision N --mark-compacted`.
    pub bump_revision: Option<u64>,
}

impl RestoreOptions {
    /// The defaults of the tool.
    #[must_use]
    pub fn new(spec: ClusterSpec) -> Self {
        RestoreOptions {
            spec,
            style: Style::default(),
            target: None,
            missing_trailer: MissingTrailer::Refuse,
            clear_alarms: false,
            bump_revision: None,
        }
    }
}

/// Restores into `data_dir`, which must be absent or empty.
pub fn restore_snapshot(
    snapshot: &Path,
    data_dir: &Path,
    options: &RestoreOptions,
    cancel: &Cancel,
) -> Result<Cluster> {
    let cluster = options.spec.resolve()?;
    check_trailer(snapshot, options.missing_trailer, cancel, &mut |_| {})?;
    refuse_used(data_dir)?;
    let member = data_dir.join("member");
    let snap = member.join("snap");
    make_dirs(&snap)?;
    let db = snap.join("db");
    copy_db(snapshot, &db, cancel, &mut |_| {})?;
    seat(
        &db,
        &Seat {
            cluster: &cluster,
            target: options.target,
            clear_alarms: options.clear_alarms,
        },
    )?;
    if let Some(by) = options.bump_revision {
        bump_revision(&db, by)?;
    }
    File::open(&db)
        .and_then(|file| file.sync_all())
        .map_err(|e| Error::io("sync", &db, e))?;
    write_member_dir(&member, &options.spec, options.style)
}

fn refuse_used(data_dir: &Path) -> Result<()> {
    match fs::read_dir(data_dir).map(|mut entries| entries.next().is_some()) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::Exists {
            path: data_dir.to_path_buf(),
            hint: "a data directory must be empty to restore into it",
        }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("look at", data_dir, e)),
    }
}

fn make_dirs(dir: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| Error::io("create directory", dir, e))
}
