//! The `auth` bucket: `authEnabled` one byte 0 or 1, `authRevision` u64 BE. Users and roles are copied, never read.

use bbolt::Db;

use crate::error::Result;

/// The bucket's name.
pub const AUTH_BUCKET: &[u8] = b"auth";
/// Whether clients must log in.
pub const AUTH_ENABLED: &[u8] = b"authEnabled";

/// Whether the restored etcd will ask for passwords.
pub fn auth_enabled(db: &Db) -> Result<bool> {
    let Some(bucket) = db.bucket(AUTH_BUCKET)? else {
        return Ok(false);
    };
    Ok(bucket.get(AUTH_ENABLED)?.is_some_and(|value| value == [1]))
}
