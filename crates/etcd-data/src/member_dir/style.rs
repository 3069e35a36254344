//! Which etcd version's tool the bytes of WAL and raft snapshot follow. Readers of all four accept all styles
//! (tried on 3.4.23, 3.5.35, 3.6.16 and 3.7.3), so the style matters only for byte equality with a tool.

use crate::error::{Error, Result};

/// The tool whose `snapshot restore` is reproduced byte for byte. Write [`Style::V3_5`] unless asked otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Style {
    /// etcdctl 3.4.
    V3_4,
    /// etcdutl 3.5: read by every version.
    #[default]
    V3_5,
    /// etcdutl 3.6.
    V3_6,
    /// etcdutl 3.7.
    V3_7,
}

impl Style {
    /// The style of `3.6`, `v3.6.16` and the like.
    pub fn from_version(version: &str) -> Result<Self> {
        let mut parts = version.strip_prefix('v').unwrap_or(version).split('.');
        match (parts.next(), parts.next()) {
            (Some("3"), Some("4")) => Ok(Style::V3_4),
            (Some("3"), Some("5")) => Ok(Style::V3_5),
            (Some("3"), Some("6")) => Ok(Style::V3_6),
            (Some("3"), Some("7")) => Ok(Style::V3_7),
            _ => Err(Error::Unsupported {
                what: format!("etcd version \"{version}\": give 3.4, 3.5, 3.6 or 3.7"),
            }),
        }
    }

    /// The 5 of 3.5.
    #[must_use]
    pub fn minor(self) -> u32 {
        match self {
            Style::V3_4 => 4,
            Style::V3_5 => 5,
            Style::V3_6 => 6,
            Style::V3_7 => 7,
        }
    }

    /// 3.7's protobuf leaves out what was not set; gogo before it wrote every scalar.
    pub(super) fn conf_change_id_is_written(self) -> bool {
        self < Style::V3_7
    }

    /// `ConfState.auto_leave = false`, likewise.
    pub(super) fn auto_leave_is_written(self) -> bool {
        self < Style::V3_7
    }

    /// 3.5 put the voters beside the WAL's snapshot record.
    pub(super) fn wal_snapshot_has_conf_state(self) -> bool {
        self > Style::V3_4
    }

    /// 3.6 asks the v2 store for the members once before it writes them.
    pub(super) fn failed_gets(self) -> u64 {
        u64::from(self > Style::V3_5)
    }
}
