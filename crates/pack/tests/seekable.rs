//! Parts of a seekable `.zst`, whole ones front to back, and what bad ones are called.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use bbolt::{Chunks, ReadAt};
use pack::{Codec, Error, Packer, SeekableFile};
use std::fs;
use std::path::{Path, PathBuf};

const FRAME_BYTES: usize = 4 << 20;

fn plain(bytes: usize) -> Vec<u8> {
    (0..bytes as u64 / 8 + 1)
        .flat_map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).to_le_bytes())
        .take(bytes)
        .collect()
}

fn packed(dir: &Path, plain: &[u8]) -> PathBuf {
    let path = dir.join("full.zst");
    let mut packer = Packer::create(&path, Codec::Zstd).unwrap();
    packer.write(plain).unwrap();
    packer.finish().unwrap();
    path
}

fn front_to_back(file: &SeekableFile, threads: usize) -> std::io::Result<Vec<u8>> {
    let mut chunks = file.front_to_back(threads).unwrap();
    let mut found = Vec::new();
    while let Some(chunk) = chunks.next_chunk()? {
        found.extend_from_slice(&chunk);
        chunks.give_back(chunk);
    }
    Ok(found)
}

#[test]
fn any_part_can_be_read_and_only_its_frames_are_decompressed() {
    let dir = tempfile::tempdir().unwrap();
    let plain = plain(3 * FRAME_BYTES + 1000);
    let file = SeekableFile::open(&packed(dir.path(), &plain))
        .unwrap()
        .unwrap();
    assert_eq!(file.frames(), 4);
    assert_eq!(file.plain_bytes(), plain.len() as u64);
    let mut part = [0; 10];
    file.read_exact_at(&mut part, 2 * FRAME_BYTES as u64 + 7)
        .unwrap();
    assert_eq!(part, plain[2 * FRAME_BYTES + 7..][..10]);
    assert_eq!(file.frames_decompressed(), 1);
    for at in [
        0,
        FRAME_BYTES - 3,
        2 * FRAME_BYTES - 5000,
        plain.len() - 6000,
    ] {
        let mut part = vec![0; 6000];
        file.read_exact_at(&mut part, at as u64).unwrap();
        assert_eq!(part, plain[at..at + 6000], "at {at}");
    }
    let beyond = file
        .read_exact_at(&mut part, plain.len() as u64 - 3)
        .unwrap_err();
    assert_eq!(beyond.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn front_to_back_is_in_order_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let plain = plain(5 * FRAME_BYTES + 9);
    let file = SeekableFile::open(&packed(dir.path(), &plain))
        .unwrap()
        .unwrap();
    for threads in 1..4 {
        assert!(
            front_to_back(&file, threads).unwrap() == plain,
            "{threads} threads"
        );
    }
    // Given up early: the threads end.
    let mut chunks = file.front_to_back(2).unwrap();
    chunks.next_chunk().unwrap();
}

#[test]
fn a_zst_without_a_seek_table_is_not_seekable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.zst");
    for bytes in [
        zstd::encode_all(&plain(100_000)[..], 1).unwrap(),
        b"".to_vec(),
        b"short".to_vec(),
    ] {
        fs::write(&path, bytes).unwrap();
        assert!(SeekableFile::open(&path).unwrap().is_none());
    }
}

#[test]
fn every_flipped_byte_of_the_table_or_of_a_frame_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let plain = plain(2 * FRAME_BYTES);
    let path = packed(dir.path(), &plain);
    let bytes = fs::read(&path).unwrap();
    let table = bytes.len() - 9 - 2 * 8 - 8;
    let places = (table..bytes.len()).chain((0..table).step_by(table / 60));
    for at in places {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x11;
        fs::write(&path, &damaged).unwrap();
        match SeekableFile::open(&path) {
            Err(Error::Corrupt(_)) | Ok(None) => {}
            Err(other) => panic!("byte {at}: {other}"),
            Ok(Some(file)) => {
                let error = front_to_back(&file, 2).expect_err(&format!("byte {at}"));
                assert_eq!(
                    error.kind(),
                    std::io::ErrorKind::InvalidData,
                    "byte {at}: {error}"
                );
            }
        }
    }
}

#[test]
fn a_file_cut_off_or_grown_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = packed(dir.path(), &plain(FRAME_BYTES + 5));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[1..]).unwrap();
    let cut = SeekableFile::open(&path).unwrap_err();
    assert_eq!(cut.code(), "CORRUPT", "{cut}");
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(SeekableFile::open(&path).unwrap().is_none());
}
