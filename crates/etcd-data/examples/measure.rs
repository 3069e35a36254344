//! How fast the scans are: `cargo run --release -p etcd-data --example measure -- FILE [MiB] [value bytes] [keys]`.
//! Makes FILE when it is not there (a store with overwrites, deletions and a compaction in its middle) and times each
//! scan over it, twice, the second run with a warm page cache.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for the developer"
)]

use std::path::Path;
use std::time::Instant;

use bbolt::{Builder, Cancel, Db};
use etcd_data::hash_kv::hash_kv;
use etcd_data::{KeyValueRef, MvccOptions, Revision, mvcc_check, prove_records, unknown_leases};

const PAGE_BYTES: u32 = 4096;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| "measure.db".into());
    let mut number = |default: u64| args.next().map_or(default, |arg| arg.parse().unwrap());
    let (mib, value_bytes, keys) = (number(1024), number(500), number(500_000));
    let path = Path::new(&path);
    if !path.exists() {
        make(path, mib << 20, value_bytes as usize, keys);
    }
    let db = Db::open(path).unwrap();
    let bytes = db.file_len();
    println!("{} MiB", bytes >> 20);
    let cancel = Cancel::never();
    let report = mvcc_check(&db, MvccOptions::default(), &cancel).unwrap();
    let last = report.last.unwrap().main;
    println!(
        "{} records, {} live keys, {} scans, {} findings",
        report.records,
        report.live_keys,
        report.scans,
        report.findings.total()
    );
    for _ in 0..2 {
        timed("mvcc_check", bytes, || {
            let _ = mvcc_check(&db, MvccOptions::default(), &cancel).unwrap();
        });
        timed("hash_kv, never compacted", bytes, || {
            let _ = hash_kv(&db, last, -1, &cancel).unwrap();
        });
        timed("hash_kv, compacted in the middle", bytes, || {
            let _ = hash_kv(&db, last, last / 2, &cancel).unwrap();
        });
        timed("hash_kv, compacted at the end", bytes, || {
            let _ = hash_kv(&db, last, last, &cancel).unwrap();
        });
        timed("unknown_leases", bytes, || {
            let _ = unknown_leases(&db, &cancel).unwrap();
        });
        timed("prove_records (fails at its end)", bytes, || {
            let _ = prove_records(&db, 1, &[], &cancel);
        });
    }
}

fn timed(name: &str, bytes: u64, run: impl FnOnce()) {
    let (start, cpu_start) = (Instant::now(), cpu_seconds());
    run();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start);
    let rate = bytes as f64 / 1e6 / cpu;
    println!("{name:34} {seconds:6.2} s, {cpu:6.2} s of CPU: {rate:6.0} MB per CPU second");
}

/// Time on a CPU, which other work on the machine disturbs less than the clock.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    let nanoseconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
    nanoseconds / 1e9
}

/// Puts in an order that looks random, each tenth change a deletion of the key put before.
fn make(path: &Path, bytes: u64, value_bytes: usize, keys: u64) {
    let value: Vec<u8> = (0..value_bytes).map(|i| i as u8).collect();
    let mut versions = vec![(0i64, 0i64); keys as usize];
    let mut appender = Builder::create(path, PAGE_BYTES).unwrap();
    appender
        .replace_bucket::<bbolt::Error>(b"key", |out| {
            let (mut written, mut main, mut chosen) = (0u64, 1i64, 0u64);
            let mut bytes_of = Vec::new();
            while written < bytes {
                main += 1;
                let delete = main % 10 == 0 && versions[chosen as usize].1 > 0;
                if !delete {
                    chosen = (main as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys;
                }
                let key = format!(
                    "/registry/things/namespace-{:03}/object-{chosen:08}",
                    chosen % 100
                );
                bytes_of.clear();
                if delete {
                    versions[chosen as usize] = (0, 0);
                    KeyValueRef::tombstone(key.as_bytes()).encode(&mut bytes_of);
                    out.put(&Revision::new(main, 0).to_tombstone_key(), &bytes_of)?;
                } else {
                    let (create, version) = &mut versions[chosen as usize];
                    *create = if *version == 0 { main } else { *create };
                    *version += 1;
                    let kv = KeyValueRef {
                        key: key.as_bytes(),
                        create_revision: *create,
                        mod_revision: main,
                        version: *version,
                        value: &value,
                        lease: 0,
                    };
                    kv.encode(&mut bytes_of);
                    out.put(&Revision::new(main, 0).to_key(), &bytes_of)?;
                }
                written += bytes_of.len() as u64 + 33;
            }
            Ok(())
        })
        .unwrap();
    appender
        .replace_bucket::<bbolt::Error>(b"meta", |out| {
            out.put(b"consistent_index", &1u64.to_be_bytes())
        })
        .unwrap();
    appender.commit().unwrap();
}
