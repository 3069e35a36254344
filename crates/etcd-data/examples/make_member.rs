//! A data directory of any size in seconds, for benchmarks: an etcd of any version starts from it.
//! `cargo run --release -p etcd-data --example make_member -- DIR MIB VALUE_BYTES KEYS`
//!
//! Keys are overwritten round and round from a seed, so the store has KEYS live keys and history above them. Values are
//! hexadecimal text: they compress to about half, as real objects do at the least.

#![allow(clippy::unwrap_used, reason = "a program for the developer")]

use bbolt::{Builder, Records};
use etcd_data::member_dir::{ClusterSpec, Style, write_member_dir};
use etcd_data::{KeyValueRef, Revision, Seat, seat};
use std::path::Path;

const PAGE_BYTES: u32 = 4096;
const BUCKETS: [&[u8]; 9] = [
    b"alarm",
    b"auth",
    b"authRoles",
    b"authUsers",
    b"cluster",
    b"lease",
    b"members",
    b"members_removed",
    b"meta",
];
/// What a record takes beside its value: revision, user key, numbers, page element.
const RECORD_OVERHEAD_BYTES: u64 = 90;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, mib, value_bytes, keys] = args.as_slice() else {
        eprintln!("usage: make_member DIR MIB VALUE_BYTES KEYS");
        std::process::exit(2);
    };
    let (mib, value_bytes, keys): (u64, u64, u64) = (
        mib.parse().unwrap(),
        value_bytes.parse().unwrap(),
        keys.parse().unwrap(),
    );
    let member = Path::new(dir).join("member");
    let db = member.join("snap").join("db");
    std::fs::create_dir_all(db.parent().unwrap()).unwrap();
    write_db(
        &db,
        (mib << 20) / (value_bytes + RECORD_OVERHEAD_BYTES),
        value_bytes,
        keys,
    );
    let spec = ClusterSpec::single("default", "http://localhost:2380", "etcd-cluster");
    seat(&db, &Seat::new(&spec.resolve().unwrap())).unwrap();
    write_member_dir(&member, &spec, Style::default()).unwrap();
}

fn write_db(path: &Path, records: u64, value_bytes: u64, keys: u64) {
    let mut file = Builder::create(path, PAGE_BYTES).unwrap();
    for name in BUCKETS {
        file.replace_bucket::<bbolt::Error>(name, |_| Ok(()))
            .unwrap();
    }
    file.replace_bucket(b"key", |out: &mut Records<'_>| {
        put_records(out, records, value_bytes, keys)
    })
    .unwrap();
    file.commit().unwrap();
}

fn put_records(
    out: &mut Records<'_>,
    records: u64,
    value_bytes: u64,
    keys: u64,
) -> bbolt::Result<()> {
    let mut encoded = Vec::new();
    let mut value = Vec::new();
    let mut seed = 1u64;
    for n in 0..records {
        let main = i64::try_from(n + 2).unwrap();
        let key = format!("/registry/configmaps/bench/key-{:012}", n % keys);
        fill(&mut value, value_bytes, &mut seed);
        let kv = KeyValueRef {
            key: key.as_bytes(),
            create_revision: i64::try_from(n % keys + 2).unwrap(),
            mod_revision: main,
            version: i64::try_from(n / keys + 1).unwrap(),
            value: &value,
            lease: 0,
        };
        encoded.clear();
        kv.encode(&mut encoded);
        out.put(&Revision::new(main, 0).to_key(), &encoded)?;
    }
    Ok(())
}

/// xorshift64, as text.
fn fill(value: &mut Vec<u8>, bytes: u64, seed: &mut u64) {
    value.clear();
    while (value.len() as u64) < bytes {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        value.extend_from_slice(format!("{seed:016x}").as_bytes());
    }
    value.truncate(usize::try_from(bytes).unwrap());
}
