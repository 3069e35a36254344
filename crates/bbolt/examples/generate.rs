//! `cargo run --release -p bbolt --example generate -- FILE MIB VALUE_BYTES packed|shuffled`
//!
//! A file as a store of revisions leaves it: one bucket with ascending 17-byte keys. `shuffled` moves all pages of the
//! tree to random places, as in a file that has lived through overwrites.

use bbolt::{Builder, Records};
use std::os::unix::fs::FileExt;

const PAGE_BYTES: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, mib, value_bytes, order] = args.as_slice() else {
        return Err("usage: generate FILE MIB VALUE_BYTES packed|shuffled".into());
    };
    let (mib, value_bytes): (u64, usize) = (mib.parse()?, value_bytes.parse()?);
    let records = (mib << 20) / (value_bytes as u64 + 33);
    let mut builder = Builder::create(path, PAGE_BYTES as u32)?;
    builder.replace_bucket(b"key", |to| fill(to, records, value_bytes))?;
    let meta = builder.commit()?;
    if order == "shuffled" {
        shuffle(path, meta.high_water)?;
    }
    println!("{records} records, {} pages", meta.high_water);
    Ok(())
}

fn fill(to: &mut Records<'_>, records: u64, value_bytes: usize) -> bbolt::Result<()> {
    let mut value = vec![0x5a; value_bytes];
    for main in 2..records.saturating_add(2) {
        let mut key = [b'_'; 17];
        key.iter_mut()
            .zip(main.to_be_bytes())
            .for_each(|(to, from)| *to = from);
        key.iter_mut().skip(9).for_each(|byte| *byte = 0);
        value
            .iter_mut()
            .zip(main.to_le_bytes())
            .for_each(|(to, from)| *to = from);
        to.put(&key, &value)?;
    }
    Ok(())
}

/// Fisher-Yates over all pages behind the metas; ids in headers, branches, the bucket's value and the metas follow.
/// The file must have no overflow pages and the one bucket only.
fn shuffle(path: &str, high_water: u64) -> Result<(), Box<dyn std::error::Error>> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)?;
    let mut pages = vec![0; usize::try_from(high_water)? * PAGE_BYTES];
    file.read_exact_at(&mut pages, 0)?;
    let mut place: Vec<u64> = (0..high_water).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for index in (3..place.len()).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let other = 2 + usize::try_from(seed % (index as u64 - 1))?;
        place.swap(index, other);
    }
    let moved = |id: u64| place.get(id as usize).copied().unwrap_or(id);
    for (page, id) in pages.chunks_exact_mut(PAGE_BYTES).zip(0_u64..) {
        if id >= 2 {
            relink(page, &moved);
            file.write_all_at(page, moved(id) * PAGE_BYTES as u64)?;
        } else {
            patch(page, 32, &moved);
            let sum = page.get(16..72).unwrap_or_default().iter();
            let sum = sum.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            });
            page.iter_mut()
                .skip(72)
                .zip(sum.to_le_bytes())
                .for_each(|(to, from)| *to = from);
            file.write_all_at(page, id * PAGE_BYTES as u64)?;
        }
    }
    file.sync_all()?;
    Ok(())
}

fn relink(page: &mut [u8], moved: &impl Fn(u64) -> u64) {
    patch(page, 0, moved);
    let flags = page.get(8).copied().unwrap_or(0);
    let byte = |at| usize::from(page.get(at).copied().unwrap_or(0));
    let count = byte(10) | byte(11) << 8;
    for element in 0..count {
        let at = 16 + 16 * element;
        if flags == 1 {
            patch(page, at + 8, moved);
        } else if page.get(at) == Some(&1) {
            // The one bucket: its value begins behind its three-byte name.
            patch(page, at + 16 + 3, moved);
        }
    }
}

fn patch(page: &mut [u8], at: usize, moved: &impl Fn(u64) -> u64) {
    if let Some(bytes) = page.get_mut(at..at + 8) {
        let id = bytes
            .iter()
            .rev()
            .fold(0_u64, |id, byte| id << 8 | u64::from(*byte));
        bytes.copy_from_slice(&moved(id).to_le_bytes());
    }
}
