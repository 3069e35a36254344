//! The legacy v2 store inside a raft snapshot, as JSON: what 3.4 and 3.5 recover the membership from.
//!
//! It holds one file per member, `/0/members/<hex id>/raftAttributes`, created at indexes 1..N in ascending order
//! of ids (3.6 and 3.7 create them in random order, and nobody minds), plus the history of these N events.
//! `Children: null` is a file, `{}` an empty directory; a zero `ExpireTime` never expires.

use crate::member_dir::cluster::Member;
use crate::member_dir::json;
use crate::member_dir::style::Style;

/// Events that etcd's history ring has room for.
const HISTORY_CAPACITY: usize = 1000;
const COUNTERS: [&str; 16] = [
    "getsSuccess",
    "getsFail",
    "setsSuccess",
    "setsFail",
    "deleteSuccess",
    "deleteFail",
    "updateSuccess",
    "updateFail",
    "createSuccess",
    "createFail",
    "compareAndSwapSuccess",
    "compareAndSwapFail",
    "compareAndDeleteSuccess",
    "compareAndDeleteFail",
    "expireCount",
    "watchers",
];

/// The store that `snapshot restore` of that version saves, for members created in the given order.
#[must_use]
pub fn v2_store_json(members: &[Member], style: Style) -> String {
    let created: Vec<(u64, &Member)> = (1u64..).zip(members).collect();
    let last = members.len();
    format!(
        "{{\"Root\":{},\"WatcherHub\":{{\"EventHistory\":{{\"Queue\":{},\"StartIndex\":1,\"LastIndex\":{last}}}}},\
         \"CurrentIndex\":{last},\"Stats\":{},\"CurrentVersion\":2}}",
        root(&created),
        queue(&created),
        stats(last as u64, style.failed_gets()),
    )
}

fn root(created: &[(u64, &Member)]) -> String {
    let mut by_name: Vec<(String, String)> = created
        .iter()
        .map(|(index, member)| (member.hex_id(), member_dir(*index, member)))
        .collect();
    by_name.sort_unstable();
    let members = dir("/0/members", 1, &children(&by_name));
    let zero = dir("/0", 0, &children(&[("members".into(), members)]));
    let one = dir("/1", 0, "{}");
    dir("/", 0, &children(&[("0".into(), zero), ("1".into(), one)]))
}

fn member_dir(index: u64, member: &Member) -> String {
    let file = node(&attributes_path(member), index, &attributes(member), "null");
    dir(
        &member_path(member),
        index,
        &children(&[("raftAttributes".into(), file)]),
    )
}

fn queue(created: &[(u64, &Member)]) -> String {
    let mut events: Vec<String> = created
        .iter()
        .map(|(index, member)| event(*index, member))
        .collect();
    let size = events.len();
    events.resize(HISTORY_CAPACITY, "null".into());
    format!(
        "{{\"Events\":[{}],\"Size\":{size},\"Front\":0,\"Back\":{size},\"Capacity\":{HISTORY_CAPACITY}}}",
        events.join(",")
    )
}

fn event(index: u64, member: &Member) -> String {
    format!(
        "{{\"action\":\"create\",\"node\":{{\"key\":{},\"value\":{},\"modifiedIndex\":{index},\"createdIndex\":{index}}}}}",
        json::string(&attributes_path(member)),
        json::string(&attributes(member)),
    )
}

fn stats(created: u64, failed_gets: u64) -> String {
    let counters = COUNTERS.map(|name| {
        let count = match name {
            "createSuccess" => created,
            "getsFail" => failed_gets,
            _ => 0,
        };
        format!("\"{name}\":{count}")
    });
    format!("{{{}}}", counters.join(","))
}

fn dir(path: &str, index: u64, children: &str) -> String {
    node(path, index, "", children)
}

fn node(path: &str, index: u64, value: &str, children: &str) -> String {
    format!(
        "{{\"Path\":{},\"CreatedIndex\":{index},\"ModifiedIndex\":{index},\"ExpireTime\":\"0001-01-01T00:00:00Z\",\
         \"Value\":{},\"Children\":{children}}}",
        json::string(path),
        json::string(value),
    )
}

fn children(named: &[(String, String)]) -> String {
    let items: Vec<String> = named
        .iter()
        .map(|(name, node)| format!("{}:{node}", json::string(name)))
        .collect();
    format!("{{{}}}", items.join(","))
}

fn member_path(member: &Member) -> String {
    format!("/0/members/{}", member.hex_id())
}

fn attributes_path(member: &Member) -> String {
    format!("{}/raftAttributes", member_path(member))
}

fn attributes(member: &Member) -> String {
    format!("{{\"peerURLs\":{}}}", json::string_array(&member.peer_urls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_dir::cluster::ClusterSpec;

    #[test]
    fn one_member_takes_the_bytes_that_the_tools_take() {
        let spec = ClusterSpec::single("m1", "http://127.0.0.1:40101", "etcd-cluster");
        let text = v2_store_json(&spec.resolve().unwrap().members, Style::V3_5);
        assert_eq!(text.len(), 6459);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["CurrentIndex"], 1);
        assert_eq!(
            value["WatcherHub"]["EventHistory"]["Queue"]["Events"]
                .as_array()
                .unwrap()
                .len(),
            1000
        );
        assert_eq!(value["Stats"].as_object().unwrap().len(), 16);
    }
}
