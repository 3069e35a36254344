//! `cargo run -p bbolt --example fuzz_seeds -- crates/bbolt/fuzz/corpus`: writes the seeds of both fuzz targets.
//!
//! Small sound files in every shape. Damage is the fuzzer's business; tests/vectors.rs has the named kinds of it.

use bbolt::{Appender, Builder, Result};
use std::path::Path;

fn main() -> Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "corpus".to_owned());
    for target in ["check", "scan"] {
        let folder = Path::new(&folder).join(target);
        write(&folder.join("empty"), |_| Ok(()))?;
        write(&folder.join("inline"), |to| fill(to, b"meta", 3, 8))?;
        write(&folder.join("tree"), |to| fill(to, b"key", 60, 60))?;
        write(&folder.join("deep"), |to| fill(to, b"key", 40, 400))?;
        write(&folder.join("overflow"), |to| fill(to, b"large", 3, 2500))?;
        write(&folder.join("several"), |to| {
            fill(to, b"alarm", 0, 0)?;
            fill(to, b"key", 20, 90)?;
            fill(to, b"meta", 4, 20)
        })?;
    }
    Ok(())
}

fn write(path: &Path, content: impl FnOnce(&mut Appender) -> Result<()>) -> Result<()> {
    let _ = std::fs::remove_file(path);
    let _ = path.parent().map(std::fs::create_dir_all);
    let mut builder = Builder::create(path, 1024)?;
    content(&mut builder)?;
    builder.commit().map(|_| ())
}

fn fill(to: &mut Appender, name: &[u8], records: u64, value_bytes: usize) -> Result<()> {
    to.replace_bucket(name, |to| {
        (0..records).try_for_each(|i| to.put(&i.to_be_bytes(), &vec![i as u8; value_bytes]))
    })
}
