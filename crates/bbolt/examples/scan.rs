//! `cargo run --release -p bbolt --example scan -- FILE`: records, bytes and time of an ordered scan of all buckets.

use bbolt::Db;
use std::time::Instant;

fn main() -> bbolt::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "db".to_owned());
    let start = Instant::now();
    let db = Db::open(path)?;
    for (name, _) in db.buckets()? {
        let (mut records, mut bytes) = (0_u64, 0_usize);
        let Some(bucket) = db.bucket(&name)? else {
            continue;
        };
        let mut scan = bucket.scan()?;
        while let Some((key, value)) = scan.next()? {
            records = records.saturating_add(1);
            bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
        }
        println!(
            "{}: {records} records, {bytes} bytes, {:?}",
            String::from_utf8_lossy(&name),
            start.elapsed()
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .filter(|line| line.starts_with("VmHWM"))
        .for_each(|line| println!("{line}"));
    Ok(())
}
