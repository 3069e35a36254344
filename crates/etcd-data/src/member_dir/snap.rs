//! The raft snapshot file beside the database.
//!
//! `snappb.Snapshot{1 crc = CRC32C(data), 2 data}`, data = `raftpb.Snapshot{1 data = v2 store JSON,
//! 2 metadata{1 conf_state, 2 index = N, 3 term = 1}}`. All versions write `conf_state` here, 3.4 too.

use crate::member_dir::cluster::{Cluster, Member};
use crate::member_dir::conf_state::styled_conf_state;
use crate::member_dir::style::Style;
use crate::member_dir::v2store::v2_store_json;
use crate::member_dir::wal::RESTORE_TERM;
use crate::proto::{put_bytes_field, put_varint_field};

/// `%016x-%016x.snap` of term and index.
#[must_use]
pub fn snap_file_name(cluster: &Cluster) -> String {
    format!("{RESTORE_TERM:016x}-{:016x}.snap", cluster.size())
}

/// The file's content: members created in ascending order of their ids.
#[must_use]
pub fn snap_bytes(cluster: &Cluster, style: Style) -> Vec<u8> {
    snap_bytes_created_as(cluster, &cluster.members, style)
}

/// The same for another order of creation, for comparing with 3.6 and 3.7, which take a random one.
#[must_use]
pub fn snap_bytes_created_as(cluster: &Cluster, order: &[Member], style: Style) -> Vec<u8> {
    let mut metadata = Vec::new();
    put_bytes_field(&mut metadata, 1, &styled_conf_state(cluster, style));
    put_varint_field(&mut metadata, 2, cluster.size());
    put_varint_field(&mut metadata, 3, RESTORE_TERM);

    let mut snapshot = Vec::new();
    put_bytes_field(&mut snapshot, 1, v2_store_json(order, style).as_bytes());
    put_bytes_field(&mut snapshot, 2, &metadata);

    let mut file = Vec::with_capacity(snapshot.len() + 16);
    put_varint_field(&mut file, 1, u64::from(crc32c::crc32c(&snapshot)));
    put_bytes_field(&mut file, 2, &snapshot);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_dir::cluster::ClusterSpec;

    /// Sizes seen with the tools: 6492 bytes up to 3.6, 6490 in 3.7; the crc's varint takes 4 or 5 bytes of it.
    #[test]
    fn sizes_are_those_of_the_tools() {
        let spec = ClusterSpec::single("m1", "http://127.0.0.1:40101", "etcd-cluster");
        let cluster = spec.resolve().unwrap();
        let sizes = [Style::V3_4, Style::V3_5, Style::V3_6, Style::V3_7]
            .map(|style| snap_bytes(&cluster, style).len());
        assert!(
            sizes
                .iter()
                .zip([6492, 6492, 6492, 6490])
                .all(|(size, seen)| size.abs_diff(seen) <= 1),
            "{sizes:?}"
        );
        assert_eq!(
            snap_file_name(&cluster),
            "0000000000000001-0000000000000001.snap"
        );
    }
}
