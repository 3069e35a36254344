//! What etcd keeps in a bbolt file and beside it: schema, mvcc records, HashKV, member directories.

pub mod alarms;
pub mod auth;
pub mod error;
pub mod foreign;
pub mod hash_kv;
pub mod inspect;
pub mod kv;
pub mod leases;
pub mod member_dir;
pub mod members;
pub mod meta;
pub mod mvcc_check;
pub mod partition;
pub mod proto;
pub mod prove;
pub mod record_digest;
pub mod records;
pub mod revision;
pub mod trailer;
pub mod unknown_leases;

pub use error::{Error, Result};
pub use hash_kv::{HashKv, hash_kv, hash_kv_latest};
pub use inspect::{DbInfo, LastRecord, inspect};
pub use kv::KeyValueRef;
pub use meta::Meta;
pub use mvcc_check::{MvccOptions, MvccReport, mvcc_check};
pub use prove::{Checkpoint, Proof, prove_records};
pub use record_digest::RecordDigest;
pub use revision::{RecordKey, Revision};
pub use unknown_leases::{UnknownLeases, unknown_leases};
