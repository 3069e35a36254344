//! A full that is unpacked while it arrives is what the same full from a file is, whatever the pieces.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may stop at once

use bbolt::Cancel;
use pack::{Codec, Flow, Packer, UnpackOptions, UnpackSink, UnpackSinkOptions, Unpacked, unpack};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

const ALL: [Codec; 5] = [
    Codec::None,
    Codec::Gzip,
    Codec::Zlib,
    Codec::Lzw,
    Codec::Zstd,
];

/// 4 KiB blocks that compress a little, then the trailer.
fn snapshot(blocks: u64) -> Vec<u8> {
    let mut body: Vec<u8> = (0..blocks * 512)
        .flat_map(|i| (i / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    let digest = Sha256::digest(&body);
    body.extend_from_slice(&digest);
    body
}

fn packed(dir: &Path, codec: Codec, plain: &[u8]) -> Vec<u8> {
    let path = dir.join(format!("packed-{}", codec.name()));
    let mut packer = Packer::create(&path, codec).unwrap();
    packer.write(plain).unwrap();
    packer.finish().unwrap();
    fs::read(path).unwrap()
}

fn sink(target: &Path, codec: Codec) -> UnpackSink {
    UnpackSink::start(UnpackSinkOptions {
        name: "Full-1".to_owned(),
        target: target.to_owned(),
        codec,
        max_bytes: u64::MAX,
    })
    .unwrap()
}

fn arrive(bytes: &[u8], piece: usize, target: &Path, codec: Codec) -> pack::Result<Unpacked> {
    let sink = sink(target, codec);
    for piece in bytes.chunks(piece) {
        match sink.push(piece.to_vec()) {
            Flow::More => {}
            Flow::Pause => sink.drain_handle()(),
            Flow::Stop => break,
        }
    }
    sink.finish()
}

#[test]
fn it_is_what_the_file_is() {
    let dir = tempfile::tempdir().unwrap();
    let plain = snapshot(2_000);
    for codec in ALL {
        let bytes = packed(dir.path(), codec, &plain);
        let from_file = dir.path().join("from-file");
        let options = UnpackOptions {
            arrival: pack::Arrival::complete(),
            source: &dir.path().join(format!("packed-{}", codec.name())),
            target: &from_file,
            codec,
            strip_trailer: false,
            max_bytes: u64::MAX,
        };
        let expected = unpack(&options, &Cancel::never()).unwrap();
        for piece in [1 << 20, 70_001, 8 << 20] {
            let target = dir.path().join("target");
            assert_eq!(arrive(&bytes, piece, &target, codec).unwrap(), expected);
            assert!(fs::read(&target).unwrap() == plain, "{codec:?}");
            fs::remove_file(&target).unwrap();
        }
        fs::remove_file(&from_file).unwrap();
    }
}

#[test]
fn single_bytes_are_pieces_too() {
    let dir = tempfile::tempdir().unwrap();
    let plain = snapshot(1);
    for codec in ALL {
        let bytes = packed(dir.path(), codec, &plain);
        let target = dir.path().join("target");
        arrive(&bytes, 1, &target, codec).unwrap();
        assert!(fs::read(&target).unwrap() == plain, "{codec:?}");
        fs::remove_file(&target).unwrap();
    }
}

#[test]
fn damage_stops_the_intake_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let plain = snapshot(4_000);
    let target = dir.path().join("target");
    for codec in [Codec::Gzip, Codec::Zlib, Codec::Zstd] {
        let whole = packed(dir.path(), codec, &plain);
        let mut flipped = whole.clone();
        let middle = whole.len() / 2;
        flipped[middle..middle + 64].fill(0xff);
        for (bytes, code) in [
            (&whole[..middle], "TRUNCATED"),
            (&flipped, "CORRUPT"),
            (&plain, "CORRUPT"),
        ] {
            let error = arrive(bytes, 500_000, &target, codec).unwrap_err();
            assert_eq!(error.code(), code, "{codec:?}: {error}");
            assert!(error.to_string().contains("Full-1"), "{error}");
            assert!(!target.exists());
        }
    }
}

#[test]
fn what_is_given_up_is_no_full() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    // Plain bytes have no end of their own: an end that is none must not be taken for one.
    let given_up = sink(&target, Codec::None);
    given_up.push(snapshot(1));
    drop(given_up);
    assert!(!target.exists());
}

#[test]
fn nothing_at_all_is_an_empty_plain_full_and_no_packed_one() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    assert_eq!(arrive(&[], 1, &target, Codec::None).unwrap().plain_bytes, 0);
    fs::remove_file(&target).unwrap();
    for codec in [Codec::Gzip, Codec::Zlib, Codec::Lzw, Codec::Zstd] {
        assert!(arrive(&[], 1, &target, codec).is_err(), "{codec:?}");
    }
}

#[test]
fn what_unpacks_to_more_than_allowed_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = packed(dir.path(), Codec::Zstd, &vec![0; 50 << 20]);
    let target = dir.path().join("target");
    let sink = UnpackSink::start(UnpackSinkOptions {
        name: "Full-1".to_owned(),
        target: target.clone(),
        codec: Codec::Zstd,
        max_bytes: 1 << 20,
    })
    .unwrap();
    sink.push(bytes);
    assert_eq!(sink.finish().unwrap_err().code(), "CORRUPT");
    assert!(!target.exists());
}
