//! The `members`, `members_removed` and `cluster` buckets.
//!
//! `members`: hex id without padding -> `{"id":…,"peerURLs":[…],"isLearner":true?,"name":"…","clientURLs":[…]?}`.
//! `members_removed`: hex id -> `removed`. `cluster`: `clusterVersion` -> `3.5.0`.

use bbolt::Db;
use serde::Deserialize;

use crate::error::{Error, Result};

/// Current members.
pub const MEMBERS_BUCKET: &[u8] = b"members";
/// Ids that were members once and must not come back.
pub const MEMBERS_REMOVED_BUCKET: &[u8] = b"members_removed";
/// Version that all members agreed on.
pub const CLUSTER_BUCKET: &[u8] = b"cluster";
/// Key in the `cluster` bucket.
pub const CLUSTER_VERSION: &[u8] = b"clusterVersion";
/// Most member records read; far above any real cluster.
const MAX_MEMBER_RECORDS: usize = 10_000;

/// A member of the cluster that the database was taken from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StoredMember {
    /// Member id.
    pub id: u64,
    /// `--name`; empty until the member has published itself.
    #[serde(default)]
    pub name: String,
    /// Peer URLs.
    #[serde(default, rename = "peerURLs")]
    pub peer_urls: Vec<String>,
    /// Client URLs as published.
    #[serde(default, rename = "clientURLs")]
    pub client_urls: Vec<String>,
    /// Receives the log without a vote.
    #[serde(default, rename = "isLearner")]
    pub is_learner: bool,
}

/// All members on record.
pub fn stored_members(db: &Db) -> Result<Vec<StoredMember>> {
    let mut found = Vec::new();
    let Some(bucket) = db.bucket(MEMBERS_BUCKET)? else {
        return Ok(found);
    };
    let mut scan = bucket.scan()?;
    while let Some((key, value)) = scan.next()? {
        if found.len() >= MAX_MEMBER_RECORDS {
            return Err(Error::corrupt(format!(
                "members bucket: more than {MAX_MEMBER_RECORDS} members"
            )));
        }
        let name = String::from_utf8_lossy(key).into_owned();
        found.push(
            serde_json::from_slice(value)
                .map_err(|e| Error::corrupt(format!("member {name}: {e}")))?,
        );
    }
    Ok(found)
}

/// `3.5.0`, when the members have agreed on one.
pub fn cluster_version(db: &Db) -> Result<Option<String>> {
    let Some(bucket) = db.bucket(CLUSTER_BUCKET)? else {
        return Ok(None);
    };
    Ok(bucket
        .get(CLUSTER_VERSION)?
        .map(|text| String::from_utf8_lossy(&text).into_owned()))
}
