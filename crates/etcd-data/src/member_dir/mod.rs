//! Member directories, as `etcdutl snapshot restore` makes them: ids, WAL, raft snapshot.
//! The database's own part is in [`crate::seat`].

mod cluster;
mod conf_state;
pub mod json;
mod snap;
mod style;
mod v2store;
mod wal;
mod write;

pub use cluster::{Cluster, ClusterSpec, MAX_MEMBERS, Member};
pub use snap::{snap_bytes, snap_bytes_created_as, snap_file_name};
pub use style::Style;
pub use v2store::v2_store_json;
pub use wal::{RESTORE_TERM, WAL_FILE_NAME, WAL_SEGMENT_BYTES, wal_bytes};
pub use write::{sync_dir, write_member_dir, write_snap, write_wal};
