//! The first WAL segment of a restored member.
//!
//! Frames and records as in [`crate::wal`]; the first record starts the crc chain with 0 and has no data. Order:
//!
//! ```text
//! 4 crc        -
//! 1 metadata   etcdserverpb.Metadata{1 NodeID, 2 ClusterID}
//! 5 snapshot   walpb.Snapshot{1 index=0, 2 term=0}
//! 2 entry      per member i=1..N, ascending id: raftpb.Entry{1 type=1, 2 term=1, 3 index=i,
//!              4 data=ConfChange{1 ID=0, 2 type=0, 3 NodeID, 4 context=member JSON}}
//! 3 state      raftpb.HardState{1 term=1, 2 vote=smallest id, 3 commit=N}
//! 5 snapshot   {index=N, term=1, 3 conf_state}
//! ```

use crate::member_dir::cluster::{Cluster, Member};
use crate::member_dir::conf_state::styled_conf_state;
use crate::member_dir::style::Style;
use crate::proto::{put_bytes_field, put_varint_field};
use crate::wal::frame::{CRC, ENTRY, METADATA, SNAPSHOT, STATE, put_frame};

/// Name of segment 0 that starts at raft index 0.
pub const WAL_FILE_NAME: &str = "0000000000000000-0000000000000000.wal";
/// etcd preallocates 64 * 1000 * 1000 bytes, not MiB.
pub const WAL_SEGMENT_BYTES: u64 = 64_000_000;
/// Term of every raft record that a restore writes.
pub const RESTORE_TERM: u64 = 1;

const ENTRY_CONF_CHANGE: u64 = 1;
const CONF_CHANGE_ADD_NODE: u64 = 0;

/// The used part of the segment; the rest of the file is zeros.
#[must_use]
pub fn wal_bytes(cluster: &Cluster, style: Style) -> Vec<u8> {
    let mut wal = Encoder::start();
    wal.record(METADATA, &metadata(cluster));
    wal.record(SNAPSHOT, &snapshot(0, 0, None));
    for (index, member) in (1u64..).zip(&cluster.members) {
        wal.record(ENTRY, &entry(index, &conf_change(member, style)));
    }
    wal.record(STATE, &hard_state(cluster));
    let voters = style
        .wal_snapshot_has_conf_state()
        .then(|| styled_conf_state(cluster, style));
    wal.record(
        SNAPSHOT,
        &snapshot(cluster.size(), RESTORE_TERM, voters.as_deref()),
    );
    wal.bytes
}

struct Encoder {
    bytes: Vec<u8>,
    crc: u32,
}

impl Encoder {
    fn start() -> Self {
        let mut encoder = Encoder {
            bytes: Vec::new(),
            crc: 0,
        };
        encoder.frame(CRC, None);
        encoder
    }

    fn record(&mut self, kind: u64, data: &[u8]) {
        self.crc = crc32c::crc32c_append(self.crc, data);
        self.frame(kind, Some(data));
    }

    fn frame(&mut self, kind: u64, data: Option<&[u8]>) {
        put_frame(&mut self.bytes, kind, self.crc, data);
    }
}

fn metadata(cluster: &Cluster) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint_field(&mut out, 1, cluster.local_id);
    put_varint_field(&mut out, 2, cluster.id);
    out
}

fn snapshot(index: u64, term: u64, conf_state: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint_field(&mut out, 1, index);
    put_varint_field(&mut out, 2, term);
    if let Some(conf_state) = conf_state {
        put_bytes_field(&mut out, 3, conf_state);
    }
    out
}

fn entry(index: u64, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint_field(&mut out, 1, ENTRY_CONF_CHANGE);
    put_varint_field(&mut out, 2, RESTORE_TERM);
    put_varint_field(&mut out, 3, index);
    put_bytes_field(&mut out, 4, data);
    out
}

fn conf_change(member: &Member, style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    if style.conf_change_id_is_written() {
        put_varint_field(&mut out, 1, 0);
    }
    put_varint_field(&mut out, 2, CONF_CHANGE_ADD_NODE);
    put_varint_field(&mut out, 3, member.id);
    put_bytes_field(&mut out, 4, member.to_json().as_bytes());
    out
}

fn hard_state(cluster: &Cluster) -> Vec<u8> {
    let vote = cluster.members.first().map_or(0, |member| member.id);
    let mut out = Vec::new();
    put_varint_field(&mut out, 1, RESTORE_TERM);
    put_varint_field(&mut out, 2, vote);
    put_varint_field(&mut out, 3, cluster.size());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_dir::cluster::ClusterSpec;

    fn used(cluster: &str, style: Style) -> usize {
        let cluster = ClusterSpec::parse("m1", cluster, "etcd-cluster")
            .unwrap()
            .resolve()
            .unwrap();
        wal_bytes(&cluster, style).len()
    }

    /// Sizes seen with the tools of the four versions.
    #[test]
    fn used_bytes_are_those_of_the_tools() {
        let one = "m1=http://127.0.0.1:40101";
        let three = "m1=http://127.0.0.1:40101,m2=http://127.0.0.1:40102,m3=http://127.0.0.1:40103";
        let styles = [Style::V3_4, Style::V3_5, Style::V3_6, Style::V3_7];
        assert_eq!(styles.map(|style| used(one, style)), [264, 280, 280, 280]);
        assert_eq!(styles.map(|style| used(three, style)), [496, 536, 536, 528]);
    }

    /// The head of the WAL that etcd 3.6.16 itself wrote for a fresh member (fixture etcd-3.6): metadata, empty
    /// snapshot and the first conf change are the same records that a restore writes.
    #[test]
    fn the_first_records_are_those_of_a_fresh_etcd() {
        let spec = ClusterSpec::single("default", "http://127.0.0.1:25791", "etcd-cluster");
        let bytes = wal_bytes(&spec.resolve().unwrap(), Style::V3_6);
        let head = [
            "0400000000000084080410000000000020000000000000000801",
            "10f1e6ef960a1a1608acdf8c9bb7e38880e50110a4c796c4dbb883e48901",
            "0e00000000000082080510b2b6f1fa021a04080010000000",
            "75000000000000830802109af5abfb041a6b0801100118012263080010001",
            "8acdf8c9bb7e38880e5012252",
        ];
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(hex.starts_with(&head.concat()), "{hex}");
    }
}
