//! The write-ahead log of a member, and the raft snapshots beside it, read as etcd reads them at boot.
//!
//! ```text
//! member/wal/%016x-%016x.wal     sequence number, raft index of its first entry; files form one log
//! file     = frame*, then zeros (etcd preallocates 64,000,000 bytes) or the end of the file
//! frame    = length u64 LE | walpb.Record | pad zeros to 8; see [`frame`]
//! record   = {1 type, 2 crc, 3 data}; crc = running CRC32C over the data of all records so far
//!            1 metadata   {1 member id, 2 cluster id}, equal in all files
//!            2 entry      raftpb.Entry {1 type, 2 term, 3 index, 4 data}; an index that comes again replaces what
//!                         stood there and everything behind it
//!            3 state      raftpb.HardState {1 term, 2 vote, 3 commit}; the last one counts
//!            4 crc        begins each file: the crc so far, without data
//!            5 snapshot   walpb.Snapshot {1 index, 2 term, 3 conf_state}: a raft snapshot was saved
//! ```
//! [`survey`] reads a directory once or twice, record by record, and says what etcd would make of it: it begins at
//! the newest raft snapshot that the log knows and that is not beyond the commit index, and takes every entry behind
//! that. It writes nothing. A write that a crash tore is told from damage by etcd's own rule ([`decoder`]);
//! [`repair`] cuts it off as etcd does at boot.

mod decoder;
mod entry_kind;
pub mod frame;
mod ledger;
mod log;
mod message;
pub mod names;
mod repair;
mod request;
mod snap_file;
mod survey;
mod txn;

pub use decoder::{Decoder, MAX_RECORD_BYTES, Step, Torn};
pub use entry_kind::EntryKind;
pub use ledger::Beyond;
pub use message::{ConfState, Entry, HardState, SnapshotMark, WalMetadata};
pub use repair::{Repaired, repair};
pub use request::{Effect, effect_of};
pub use snap_file::{MAX_SNAP_FILE_BYTES, read_snap_file, snap_db_name};
pub use survey::{SurveyOptions, WalSurvey, survey};
