//! What is written is read back: random models through `Builder`, `Appender`, scans and point reads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

use bbolt::{Appender, Builder, Db, Error};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn put_all(appender: &mut Appender, name: &[u8], model: &Model) {
    appender
        .replace_bucket(name, |records| {
            model.iter().try_for_each(|(k, v)| records.put(k, v))
        })
        .unwrap();
}

fn read_all(path: &Path, name: &[u8]) -> Model {
    let db = Db::open(path).unwrap();
    let mut scan = db.bucket(name).unwrap().unwrap().scan().unwrap();
    let mut found = Model::new();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
    }
    found
}

fn assert_reads(path: &Path, name: &[u8], model: &Model, probe: &[u8]) {
    assert_eq!(read_all(path, name), *model);
    let db = Db::open(path).unwrap();
    assert_eq!(db.file_len(), db.high_water() * u64::from(db.page_size()));
    let bucket = db.bucket(name).unwrap().unwrap();
    let owned = |(k, v): (&Vec<u8>, &Vec<u8>)| (k.clone(), v.clone());
    assert_eq!(bucket.first().unwrap(), model.first_key_value().map(owned));
    assert_eq!(bucket.last().unwrap(), model.last_key_value().map(owned));
    assert_eq!(bucket.get(probe).unwrap(), model.get(probe).cloned());
    for (key, value) in model.iter().step_by(7) {
        assert_eq!(bucket.get(key).unwrap().as_ref(), Some(value));
    }
    let mut scan = bucket.scan_from(probe).unwrap();
    let mut expected = model.range(probe.to_vec()..);
    while let Some((key, value)) = scan.next().unwrap() {
        assert_eq!(expected.next(), Some((&key.to_vec(), &value.to_vec())));
    }
    assert_eq!(expected.next(), None);
    for bound in [probe, &[0xff; 40]] {
        let mut scan = bucket.scan_back_from(bound).unwrap();
        let mut expected = model.range(..=bound.to_vec()).rev();
        while let Some((key, value)) = scan.next().unwrap() {
            assert_eq!(expected.next(), Some((&key.to_vec(), &value.to_vec())));
        }
        assert_eq!(expected.next(), None);
    }
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![8 => vec(any::<u8>(), 1..20), 1 => vec(any::<u8>(), 400..3000)]
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![8 => vec(any::<u8>(), 0..40), 1 => vec(any::<u8>(), 900..9000)]
}

fn page_sizes() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(1024_u32), 1 => Just(4096), 1 => Just(65536)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn replaced_buckets_read_back(
        page_size in page_sizes(),
        first in btree_map(keys(), values(), 0..400),
        second in btree_map(keys(), values(), 0..400),
        probe in keys(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let mut builder = Builder::create(&path, page_size).unwrap();
        put_all(&mut builder, b"a", &first);
        put_all(&mut builder, b"b", &second);
        let meta = builder.commit().unwrap();
        prop_assert_eq!(meta.txid, 1);
        assert_reads(&path, b"a", &first, &probe);
        assert_reads(&path, b"b", &second, &probe);

        let mut appender = Appender::open(&path).unwrap();
        put_all(&mut appender, b"a", &second);
        prop_assert!(appender.remove_bucket(b"b").unwrap());
        appender.commit().unwrap();
        assert_reads(&path, b"a", &second, &probe);
        prop_assert!(Db::open(&path).unwrap().bucket(b"b").unwrap().is_none());
    }

    #[test]
    fn extended_bucket_holds_old_and_new(
        page_size in page_sizes(),
        all in btree_map(keys(), values(), 1..600),
        cuts in vec(0.0..1.0_f64, 1..5),
        probe in keys(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let records: Vec<_> = all.iter().collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut * records.len() as f64) as usize).collect();
        cuts.extend([0, records.len()]);
        cuts.sort_unstable();
        Builder::create(&path, page_size).unwrap().commit().unwrap();
        for piece in cuts.windows(2) {
            let mut appender = Appender::open(&path).unwrap();
            appender
                .extend_bucket(b"a", |to| records[piece[0]..piece[1]].iter().try_for_each(|(k, v)| to.put(k, v)))
                .unwrap();
            appender.commit().unwrap();
        }
        assert_reads(&path, b"a", &all, &probe);
    }
}

#[test]
fn failed_fill_leaves_the_bucket_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut builder = Builder::create(&path, 1024).unwrap();
    let model = Model::from([(b"k".to_vec(), b"v".to_vec())]);
    put_all(&mut builder, b"a", &model);
    let failed = builder.replace_bucket(b"a", |records| {
        (0..100_000_u32).try_for_each(|i| records.put(&i.to_be_bytes(), &[7; 100]))?;
        records.put(b"\0", b"")
    });
    assert_eq!(failed.unwrap_err().code(), "NOT_SORTED");
    builder.commit().unwrap();
    assert_eq!(read_all(&path, b"a"), model);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 3 * 1024);
}

#[test]
fn uncommitted_pages_do_not_count_and_either_meta_suffices_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    let old = Model::from([(b"k".to_vec(), b"old".to_vec())]);
    let new: Model = (0..3_000_u32)
        .map(|i| (i.to_be_bytes().to_vec(), vec![7; 1_000]))
        .collect();
    let mut builder = Builder::create(&path, 4096).unwrap();
    put_all(&mut builder, b"a", &old);
    builder.commit().unwrap();
    for round in 0..3 {
        let mut appender = Appender::open(&path).unwrap();
        put_all(&mut appender, b"a", if round == 1 { &old } else { &new });
        std::fs::copy(&path, &copy).unwrap();
        assert_eq!(
            read_all(&copy, b"a"),
            if round == 1 { new.clone() } else { old.clone() }
        );
        appender.commit().unwrap();
        for meta in 0..2 {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[meta * 4096..][..4096].fill(0);
            std::fs::write(&copy, bytes).unwrap();
            assert_eq!(
                read_all(&copy, b"a"),
                if round == 1 { old.clone() } else { new.clone() }
            );
        }
    }
}

#[test]
fn second_writer_is_told_who_holds_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    Builder::create(&path, 4096).unwrap().commit().unwrap();
    let first = Appender::open(&path).unwrap();
    match Appender::open(&path).map(|_| ()).unwrap_err() {
        Error::Locked { holder, .. } => assert_eq!(holder, Some(std::process::id())),
        other => panic!("{other}"),
    }
    drop(first);
    Appender::open(&path).unwrap();
}
