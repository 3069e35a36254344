//! Puts WAL and raft snapshot of a restored member on disk: everything of `member/` but the database.
//!
//! Modes as etcd's: directories 0700, WAL 0600, raft snapshot 0666 less the umask. The WAL is built in `wal.tmp`
//! and renamed, as etcd does. Files are synced before the directories that name them, inner before outer.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::member_dir::cluster::{Cluster, ClusterSpec};
use crate::member_dir::snap::{snap_bytes, snap_file_name};
use crate::member_dir::style::Style;
use crate::member_dir::wal::{WAL_FILE_NAME, WAL_SEGMENT_BYTES, wal_bytes};

const DIR_MODE: u32 = 0o700;
const WAL_MODE: u32 = 0o600;
const SNAP_MODE: u32 = 0o666;

/// Writes `member_dir/wal` and `member_dir/snap/*.snap` for one member of `spec`. `member_dir` and its `snap` may exist
/// (the database is put there first); a WAL or a raft snapshot that exists is refused, never mixed with.
pub fn write_member_dir(member_dir: &Path, spec: &ClusterSpec, style: Style) -> Result<Cluster> {
    let cluster = spec.resolve()?;
    let snap_dir = member_dir.join("snap");
    make_dir(member_dir)?;
    make_dir(&snap_dir)?;
    write_snap(&snap_dir, &cluster, style)?;
    write_wal(&member_dir.join("wal"), &cluster, style)?;
    sync_dir(member_dir)?;
    if let Some(parent) = member_dir.parent() {
        sync_dir(parent)?;
    }
    Ok(cluster)
}

/// Writes a WAL directory of its own, as for `--wal-dir`.
pub fn write_wal(wal_dir: &Path, cluster: &Cluster, style: Style) -> Result<()> {
    refuse_existing(wal_dir)?;
    let building = building_dir(wal_dir);
    refuse_existing(&building)?;
    make_dir(&building)?;
    let path = building.join(WAL_FILE_NAME);
    let file = create(&path, WAL_MODE, &wal_bytes(cluster, style))?;
    // Sparse: the zeros cost no space, and the file still equals the tool's over all its bytes.
    file.set_len(WAL_SEGMENT_BYTES)
        .map_err(|e| Error::io("write", &path, e))?;
    file.sync_all().map_err(|e| Error::io("sync", &path, e))?;
    sync_dir(&building)?;
    fs::rename(&building, wal_dir).map_err(|e| Error::io("rename", &building, e))?;
    wal_dir.parent().map_or(Ok(()), sync_dir)
}

/// Writes the raft snapshot into an existing `snap` directory.
pub fn write_snap(snap_dir: &Path, cluster: &Cluster, style: Style) -> Result<()> {
    let path = snap_dir.join(snap_file_name(cluster));
    let file = create(&path, SNAP_MODE, &snap_bytes(cluster, style))?;
    file.sync_all().map_err(|e| Error::io("sync", &path, e))?;
    sync_dir(snap_dir)
}

/// Makes the names inside `dir` survive a crash.
pub fn sync_dir(dir: &Path) -> Result<()> {
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    File::open(dir)
        .and_then(|file| file.sync_all())
        .map_err(|e| Error::io("sync", dir, e))
}

fn make_dir(dir: &Path) -> Result<()> {
    match DirBuilder::new().mode(DIR_MODE).create(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        made => made.map_err(|e| Error::io("create directory", dir, e)),
    }
}

fn create(path: &Path, mode: u32, bytes: &[u8]) -> Result<File> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(|e| Error::io("create", path, e))?;
    file.write_all(bytes)
        .map_err(|e| Error::io("write", path, e))?;
    Ok(file)
}

/// `<wal_dir>.tmp`, beside it, as etcd names it.
fn building_dir(wal_dir: &Path) -> PathBuf {
    let mut name = wal_dir.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

fn refuse_existing(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("look at", path, e)),
        Ok(_) => Err(Error::Exists {
            path: path.to_path_buf(),
            hint: "an old WAL must not stand beside a restored database",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn spec() -> ClusterSpec {
        ClusterSpec::single("m1", "http://127.0.0.1:40101", "etcd-cluster")
    }

    #[test]
    fn files_and_modes_are_those_of_the_tools() {
        let root = tempfile::tempdir().unwrap();
        let member = root.path().join("member");
        write_member_dir(&member, &spec(), Style::V3_5).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let wal = member.join("wal").join(WAL_FILE_NAME);
        assert_eq!(
            [
                mode(&member),
                mode(&member.join("snap")),
                mode(&member.join("wal"))
            ],
            [0o700; 3]
        );
        assert_eq!(mode(&wal), 0o600);
        assert_eq!(wal.metadata().unwrap().len(), 64_000_000);
        assert!(
            wal.metadata().unwrap().blocks() * 512 < 1 << 20,
            "the WAL is sparse"
        );
        assert_eq!(
            mode(&member.join("snap/0000000000000001-0000000000000001.snap")) & !0o022,
            0o644 & !0o022
        );
        assert!(!member.join("wal.tmp").exists());
    }

    #[test]
    fn an_old_wal_is_never_mixed_with_a_new_one() {
        let root = tempfile::tempdir().unwrap();
        let member = root.path().join("member");
        fs::create_dir_all(member.join("wal")).unwrap();
        let error = write_member_dir(&member, &spec(), Style::V3_5).unwrap_err();
        assert_eq!(error.code(), "EXISTS");
    }
}
