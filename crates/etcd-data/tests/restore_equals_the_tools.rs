//! A native restore equals `snapshot restore` of etcdctl 3.4 and etcdutl 3.5, 3.6, 3.7: names, modes, every byte of the
//! 64,000,000 of the WAL, the raft snapshot, every record of every bucket. The real tools run here.
//!
//! All differences that there are:
//! - raft snapshot, several members, etcdutl 3.6 and 3.7: members are created in the order of a Go map, another one in each
//!   run; ours ascending by id. Equal to one of the orders.
//! - database, etcdctl 3.4: keeps the old members and the term; we replace them for every version.
//! - database: pages lie elsewhere. Every record of every bucket is compared instead.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

mod fixture;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bbolt::{Cancel, Db};
use etcd_data::member_dir::{
    Cluster, ClusterSpec, Member, Style, snap_bytes_created_as, snap_file_name,
};
use etcd_data::{RestoreOptions, restore_snapshot};
use fixture::{Unpacked, tool};

const TOKEN: &str = "etcd-cluster-x";
const ONE: &str = "m1=http://127.0.0.1:40101";
const THREE: &str = "m1=http://127.0.0.1:40101,m2=http://127.0.0.1:40102,m3=http://127.0.0.1:40103";
/// A name that JSON escapes, and peer URLs that need sorting.
const ODD: &str = "a<b>&é\"x=http://localhost:40102,a<b>&é\"x=http://127.0.0.1:40101";
const VERSIONS: [(&str, &str, Style); 4] = [
    ("3.4.23", "etcd-3.4", Style::V3_4),
    ("3.5.35", "etcd-3.5", Style::V3_5),
    ("3.6.16", "etcd-3.6", Style::V3_6),
    ("3.7.3", "etcd-3.7", Style::V3_7),
];

struct Case<'a> {
    version: &'a str,
    style: Style,
    name: &'a str,
    initial_cluster: &'a str,
    bump: Option<u64>,
}

#[test]
fn one_member() {
    for (version, set, style) in VERSIONS {
        let snapshot = Unpacked::new(set, "snapshot-auth-alarm.db.gz");
        compare(
            &snapshot,
            &Case {
                version,
                style,
                name: "m1",
                initial_cluster: ONE,
                bump: None,
            },
        );
    }
}

#[test]
fn three_members_each_with_its_own_directory() {
    for (version, set, style) in VERSIONS {
        let snapshot = Unpacked::state_of(set);
        for name in ["m1", "m2", "m3"] {
            compare(
                &snapshot,
                &Case {
                    version,
                    style,
                    name,
                    initial_cluster: THREE,
                    bump: None,
                },
            );
        }
    }
}

#[test]
fn a_name_that_json_escapes_and_two_peer_urls() {
    for (version, set, style) in VERSIONS {
        let snapshot = Unpacked::state_of(set);
        compare(
            &snapshot,
            &Case {
                version,
                style,
                name: "a<b>&é\"x",
                initial_cluster: ODD,
                bump: None,
            },
        );
    }
}

/// The spelling of peer URLs goes into the ids: they must be taken as Go's URL type spells them.
#[test]
fn peer_urls_of_every_kind() {
    let snapshot = Unpacked::state_of("etcd-3.6");
    for initial_cluster in [
        "m1=http://[::1]:2380",
        "m1=https://[2001:db8::7]:2380,m2=https://[2001:db8::8]:2380",
        "m1=unix://m1.sock:1,m2=unixs://m2.sock:1",
        "m1=unix:///run/etcd/m1.sock",
        "m1=https://etcd-0.example:2380,m2=https://etcd-1.example:2380,m1=https://10.0.0.1:2380",
        "m1=http://:2380",
        "m1=http://a_b-c.d~e:2380",
        "m1=http://127.0.0.1:02380",
    ] {
        for (version, style) in [("3.5.35", Style::V3_5), ("3.7.3", Style::V3_7)] {
            compare(
                &snapshot,
                &Case {
                    version,
                    style,
                    name: "m1",
                    initial_cluster,
                    bump: None,
                },
            );
        }
    }
}

/// The last record of a fixture is its revision, so both count from the same (etcdutl always from the last record).
#[test]
fn a_bumped_revision_marked_compacted() {
    for (version, set, style) in VERSIONS
        .into_iter()
        .filter(|(_, _, style)| *style > Style::V3_4)
    {
        let snapshot = Unpacked::state_of(set);
        for (name, initial_cluster) in [("m1", ONE), ("m2", THREE)] {
            compare(
                &snapshot,
                &Case {
                    version,
                    style,
                    name,
                    initial_cluster,
                    bump: Some(1_000_000),
                },
            );
        }
    }
}

#[test]
fn tool_and_source_of_different_versions() {
    for (version, style, set) in [
        ("3.7.3", Style::V3_7, "etcd-3.4"),
        ("3.5.35", Style::V3_5, "etcd-3.7"),
    ] {
        let snapshot = Unpacked::state_of(set);
        compare(
            &snapshot,
            &Case {
                version,
                style,
                name: "m1",
                initial_cluster: ONE,
                bump: None,
            },
        );
    }
}

fn compare(snapshot: &Unpacked, case: &Case<'_>) {
    let work = tempfile::tempdir().unwrap();
    let (theirs, ours) = (work.path().join("theirs"), work.path().join("ours"));
    restore_with_tool(&snapshot.path(), &theirs, case);
    let spec = ClusterSpec::parse(case.name, case.initial_cluster, TOKEN).unwrap();
    let mut options = RestoreOptions::new(spec);
    options.style = case.style;
    options.bump_revision = case.bump;
    let cluster = restore_snapshot(&snapshot.path(), &ours, &options, &Cancel::never()).unwrap();

    let at = format!("{} {} of {}", case.version, case.name, case.initial_cluster);
    assert_eq!(entries(&theirs), entries(&ours), "{at}: names and modes");
    let wal = "member/wal/0000000000000000-0000000000000000.wal";
    assert!(
        fs::read(theirs.join(wal)).unwrap() == fs::read(ours.join(wal)).unwrap(),
        "{at}: WAL"
    );
    compare_snap(&theirs, &ours, &cluster, case.style, &at);
    compare_db(&theirs, &ours, case.style, &at);
}

fn restore_with_tool(snapshot: &Path, data_dir: &Path, case: &Case<'_>) {
    let name = if case.style == Style::V3_4 {
        "etcdctl"
    } else {
        "etcdutl"
    };
    let advertised: Vec<&str> = case
        .initial_cluster
        .split(',')
        .filter_map(|item| item.rsplit_once('='))
        .filter(|(name, _)| *name == case.name)
        .map(|(_, url)| url)
        .collect();
    let mut command = Command::new(tool(case.version, name));
    command
        .env("ETCDCTL_API", "3")
        .args(["snapshot", "restore"])
        .arg(snapshot);
    command.arg("--data-dir").arg(data_dir).args([
        "--name",
        case.name,
        "--initial-cluster",
        case.initial_cluster,
    ]);
    command.args([
        "--initial-cluster-token",
        TOKEN,
        "--initial-advertise-peer-urls",
        &advertised.join(","),
    ]);
    if let Some(bump) = case.bump {
        command.args(["--bump-revision", &bump.to_string(), "--mark-compacted"]);
    }
    let out = command.output().unwrap();
    assert!(
        out.status.success(),
        "{}: {}",
        case.version,
        String::from_utf8_lossy(&out.stderr)
    );
}

fn entries(dir: &Path) -> BTreeMap<PathBuf, u32> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(here) = left.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            found.insert(
                entry.path().strip_prefix(dir).unwrap().to_path_buf(),
                metadata.permissions().mode(),
            );
            if metadata.is_dir() {
                left.push(entry.path());
            }
        }
    }
    found
}

/// 3.6 and 3.7 create the members in a random order.
fn compare_snap(theirs: &Path, ours: &Path, cluster: &Cluster, style: Style, at: &str) {
    let name = Path::new("member/snap").join(snap_file_name(cluster));
    let (theirs, ours) = (
        fs::read(theirs.join(&name)).unwrap(),
        fs::read(ours.join(&name)).unwrap(),
    );
    if style <= Style::V3_5 || cluster.members.len() == 1 {
        assert!(theirs == ours, "{at}: raft snapshot");
        return;
    }
    let any_order = orders(&cluster.members)
        .iter()
        .any(|order| snap_bytes_created_as(cluster, order, style) == theirs);
    assert!(any_order, "{at}: raft snapshot in one of the orders");
}

fn orders(members: &[Member]) -> Vec<Vec<Member>> {
    if members.len() <= 1 {
        return vec![members.to_vec()];
    }
    let mut found = Vec::new();
    for at in 0..members.len() {
        let mut rest = members.to_vec();
        let first = rest.remove(at);
        for mut order in orders(&rest) {
            order.insert(0, first.clone());
            found.push(order);
        }
    }
    found
}

/// etcdctl 3.4 leaves the old members, and the term as it was; we replace them for all versions.
fn compare_db(theirs: &Path, ours: &Path, style: Style, at: &str) {
    let (mut theirs, mut ours) = (
        records(&theirs.join("member/snap/db")),
        records(&ours.join("member/snap/db")),
    );
    if style == Style::V3_4 {
        for buckets in [&mut theirs, &mut ours] {
            buckets.remove("members");
            buckets.remove("members_removed");
            buckets.get_mut("meta").unwrap().remove(b"term".as_slice());
        }
    }
    assert_eq!(
        theirs.keys().collect::<Vec<_>>(),
        ours.keys().collect::<Vec<_>>(),
        "{at}: buckets"
    );
    for (name, bucket) in &theirs {
        assert!(
            bucket == &ours[name],
            "{at}: bucket {name}: {bucket:?}\n{:?}",
            ours[name]
        );
    }
}

fn records(db: &Path) -> BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>> {
    let db = Db::open(db).unwrap();
    let mut found = BTreeMap::new();
    for (name, _) in db.buckets().unwrap() {
        let mut bucket = BTreeMap::new();
        let mut scan = db.bucket(&name).unwrap().unwrap().scan().unwrap();
        while let Some((key, value)) = scan.next().unwrap() {
            bucket.insert(key.to_vec(), value.to_vec());
        }
        found.insert(String::from_utf8(name).unwrap(), bucket);
    }
    found
}
