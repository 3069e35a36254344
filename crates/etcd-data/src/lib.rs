//! What etcd keeps in a bbolt file and beside it: schema, mvcc records, HashKV, member directories.

pub mod error;
pub mod kv;
pub mod member_dir;
pub mod proto;
pub mod record_digest;
pub mod revision;

pub use error::{Error, Result};
pub use kv::KeyValueRef;
pub use record_digest::RecordDigest;
pub use revision::{RecordKey, Revision};
