//! What must come to an end without a panic, whatever the bytes: shared by the fuzz targets and the tests.

use bbolt::check::{CheckOptions, check_file};
use bbolt::{Appender, Cancel, Chunks, Db};
use std::path::Path;

/// A check of the whole file. True when it found nothing.
pub fn check(path: &Path) -> bool {
    let options = CheckOptions {
        threads: 2,
        max_findings: 10,
    };
    check_file(path, &options, &Cancel::never(), &|_| ()).is_ok_and(|report| report.is_ok())
}

/// Every bucket from end to end, both ways, and point reads.
pub fn scan(path: &Path) -> bbolt::Result<u64> {
    let db = Db::open(path)?;
    let mut records = 0;
    for (name, _) in db.buckets()? {
        let Some(bucket) = db.bucket(&name)? else {
            continue;
        };
        let last = bucket.last()?;
        bucket.first()?;
        let mut scan = bucket.scan()?;
        while scan.next()?.is_some() {
            records += 1;
        }
        if let Some((key, _)) = last {
            bucket.get(&key)?;
            bucket.scan_from(&key)?.next()?;
            let mut back = bucket.scan_back_from(&key)?;
            while back.next()?.is_some() {}
        }
    }
    Ok(records)
}

/// Every bucket in the order of the file. Records that count.
pub fn sweep(path: &Path, chunk_bytes: usize) -> bbolt::Result<u64> {
    let db = Db::open(path)?;
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut records = 0;
    for (name, _) in db.buckets()? {
        let Some(bucket) = db.bucket(&name)? else {
            continue;
        };
        let mut chunks = Pieces(bytes.chunks(chunk_bytes));
        let mut found = Vec::new();
        let keep = |record: bbolt::Swept<'_>| -> bbolt::Result<()> {
            found.push(record.page);
            Ok(())
        };
        let live = bucket.sweep(&mut chunks, &Cancel::never(), keep)?;
        records += found.iter().filter(|page| live.contains(**page)).count() as u64;
    }
    Ok(records)
}

struct Pieces<'a>(std::slice::Chunks<'a, u8>);

impl Chunks for Pieces<'_> {
    fn next_chunk(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        Ok(self.0.next().map(<[u8]>::to_vec))
    }

    fn give_back(&mut self, _: Vec<u8>) {}
}

/// An append to the first bucket, a replaced one, a commit. True when it was possible.
pub fn append(path: &Path) -> bool {
    append_all(path).is_ok()
}

fn append_all(path: &Path) -> bbolt::Result<()> {
    let mut appender = Appender::open(path)?;
    let names: Vec<_> = appender
        .db()
        .buckets()?
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for name in &names {
        // Each bucket by itself: one that is damaged does not keep the others from being extended.
        let _ = appender.extend_bucket(name, |records| records.put(&[0xff; 40], &[7; 3000]));
    }
    appender.replace_bucket(b"replaced", |records| {
        (0..200_u8).try_for_each(|i| records.put(&[i], &[i; 50]))
    })?;
    appender.commit()?;
    Ok(())
}
