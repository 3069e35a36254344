//! Version marks that an older etcd refuses.
//!
//! A database carries `meta.storageVersion` (3.6 and later) and `cluster.clusterVersion`. An etcd older than a mark does
//! not start: 3.6 says "version 3.7.0 is not supported" of the first and panics "invalid downgrade" over the second;
//! 3.5 starts but leaves a stale mark behind. Marks at or below the target stay: the server raises them itself.

use crate::member_dir::Style;

/// Which marks must go for a target version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fixups {
    /// Delete `meta.storageVersion`; 3.6 and later write it again.
    pub drop_storage_version: bool,
    /// Delete `cluster.clusterVersion`; the server agrees on a new one.
    pub drop_cluster_version: bool,
}

/// Compares both marks with the version that will open the database.
#[must_use]
pub fn target_fixups(
    storage_version: Option<&str>,
    cluster_version: Option<&str>,
    target: Style,
) -> Fixups {
    let newer = |mark: &str| minor_of(mark).is_none_or(|minor| minor > target.minor());
    Fixups {
        drop_storage_version: storage_version.is_some_and(newer),
        drop_cluster_version: cluster_version.is_some_and(newer),
    }
}

/// `None` for anything but a version of etcd 3.
fn minor_of(mark: &str) -> Option<u32> {
    let (minor, _) = mark.strip_prefix("3.")?.split_once('.')?;
    minor.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_newer_than_the_target_go() {
        let both = Fixups {
            drop_storage_version: true,
            drop_cluster_version: true,
        };
        assert_eq!(
            target_fixups(Some("3.7.0"), Some("3.7.0"), Style::V3_6),
            both
        );
        assert_eq!(
            target_fixups(Some("3.6.0"), Some("3.6.0"), Style::V3_5),
            both
        );
        assert_eq!(target_fixups(Some("4.0.0"), Some("?"), Style::V3_7), both);
        assert_eq!(
            target_fixups(Some("3.6.0"), Some("3.6.0"), Style::V3_7),
            Fixups::default()
        );
        assert_eq!(
            target_fixups(None, Some("3.4.0"), Style::V3_4),
            Fixups::default()
        );
        let storage_only = Fixups {
            drop_storage_version: true,
            drop_cluster_version: false,
        };
        assert_eq!(
            target_fixups(Some("3.6.0"), Some("3.5.0"), Style::V3_5),
            storage_only
        );
    }
}
