//! `raftpb.ConfState{1 voters (unpacked varints), 5 auto_leave}`.

use crate::member_dir::cluster::Cluster;
use crate::member_dir::style::Style;
use crate::proto::put_varint_field;

/// All members as voters, ascending.
pub(super) fn conf_state(cluster: &Cluster, auto_leave: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for member in &cluster.members {
        put_varint_field(&mut out, 1, member.id);
    }
    if auto_leave {
        put_varint_field(&mut out, 5, 0);
    }
    out
}

/// The form that stands in WAL and raft snapshot of that version's tool.
pub(super) fn styled_conf_state(cluster: &Cluster, style: Style) -> Vec<u8> {
    conf_state(cluster, style.auto_leave_is_written())
}
