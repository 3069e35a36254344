//! Damaged files of either format: always a verdict, never a panic, a hang, or memory out of proportion.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod support;

use delta::{
    Cancel, Codec, Compression, DeltaFile, DeltaWriter, Options, Recovery, Replay, recover,
};
use std::path::{Path, PathBuf};
use support::{Dir, Random, header, history, response, verify, write_ebd};

/// Mutations of a short run; `ETCDBR_MUTATIONS` sets another number.
const MUTATIONS: u64 = 1000;

fn mutations() -> u64 {
    std::env::var("ETCDBR_MUTATIONS").map_or(MUTATIONS, |text| text.parse().unwrap())
}

/// Everything that opens a file: each must come to an end with a value or an error.
fn every_verdict(path: &Path, dir: &Dir) -> Result<(), delta::Error> {
    let cancel = Cancel::never();
    let out = dir.path("out");
    let verdict = DeltaFile::open(path).and_then(|file| {
        let _ = file.leases();
        file.verify(&cancel)
    });
    let _ = delta::last_event(path, &cancel);
    let _ = delta::transcode(path, &out, &Options::default(), &cancel);
    let _ = std::fs::remove_file(&out);
    let mut replay = Replay::new(0);
    if replay.open(path).is_ok() {
        while let Ok(Some(_)) = replay.next_batch(&cancel) {}
    }
    if let Ok(Recovery::Cut { mut writer, .. }) = recover(path, &Options::default(), &cancel)
        && writer.finish(&[]).is_ok()
    {
        verify(path).expect("what recovery finishes is sound");
    }
    verdict.map(drop)
}

fn samples(dir: &Dir) -> Vec<PathBuf> {
    let events = history(11, 0, 120);
    let mut paths = Vec::new();
    for codec in [Codec::None, Codec::Zstd] {
        let path = dir.path(&format!("{codec:?}.ebd"));
        write_ebd(
            &path,
            &events,
            &Options {
                block_bytes: 1000,
                codec,
                ..Options::default()
            },
        );
        paths.push(path);
    }
    for compression in [
        Compression::None,
        Compression::Gzip,
        Compression::Zlib,
        Compression::Lzw,
    ] {
        let path = dir.path(&format!("{compression:?}.json"));
        delta::export(&paths[0], &path, compression, &Cancel::never()).unwrap();
        paths.push(path);
    }
    paths
}

#[test]
fn mutations_of_every_format_and_codec_get_a_verdict() {
    let dir = Dir::new();
    let samples: Vec<Vec<u8>> = samples(&dir)
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let target = dir.path("mutated");
    let mut accepted = 0;
    for seed in 0..mutations() {
        let mut random = Random::new(seed);
        let mut bytes = samples[(seed % samples.len() as u64) as usize].clone();
        for _ in 0..=random.below(3) {
            mutate(&mut bytes, &mut random);
        }
        std::fs::write(&target, &bytes).unwrap();
        accepted += u64::from(every_verdict(&target, &dir).is_ok());
    }
    assert!(
        accepted < mutations() / 50 + 2,
        "{accepted} mutated files were taken for sound"
    );
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes.truncate(at.max(1)),
        3 => {
            let end = (at + random.below(40) as usize).min(bytes.len());
            bytes.drain(at..end.max(at + 1).min(bytes.len()));
        }
        4 => {
            let end = (at + 8).min(bytes.len());
            bytes[at..end].fill(0xFF);
        }
        _ => {
            let inserted = random.bytes(1 + at % 9);
            bytes.splice(at..at, inserted);
        }
    }
    if bytes.is_empty() {
        bytes.push(0);
    }
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let dir = Dir::new();
    let small = dir.path("small.ebd");
    write_ebd(
        &small,
        &history(3, 5, 6),
        &Options {
            block_bytes: 100,
            ..Options::default()
        },
    );
    let json = dir.path("small.json.gz");
    delta::export(&small, &json, Compression::Gzip, &Cancel::never()).unwrap();
    let plain = dir.path("small.json");
    delta::export(&small, &plain, Compression::None, &Cancel::never()).unwrap();
    for path in [small, json, plain] {
        let bytes = std::fs::read(&path).unwrap();
        let cut = dir.path("cut");
        for length in 0..bytes.len() {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            let error = verify(&cut).expect_err("a cut file is not whole");
            assert!(
                matches!(error.code(), "TRUNCATED" | "CORRUPT" | "CHECKSUM"),
                "{length}: {error}"
            );
            assert!(
                error.to_string().contains("cut"),
                "the object is named: {error}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_of_an_ebd_is_seen() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    write_ebd(
        &path,
        &history(3, 5, 20),
        &Options {
            block_bytes: 300,
            ..Options::default()
        },
    );
    let bytes = std::fs::read(&path).unwrap();
    let flipped = dir.path("flipped");
    for at in 0..bytes.len() {
        let mut copy = bytes.clone();
        copy[at] ^= 1 << (at % 8);
        std::fs::write(&flipped, &copy).unwrap();
        assert!(verify(&flipped).is_err(), "byte {at}");
    }
}

#[test]
fn an_unknown_version_is_refused_by_name() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    write_ebd(&path, &history(3, 5, 20), &Options::default());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 2;
    std::fs::write(&path, &bytes).unwrap();
    let error = verify(&path).unwrap_err();
    assert_eq!(error.code(), "UNSUPPORTED");
    assert!(error.to_string().contains(".ebd version 2"), "{error}");
}

/// Puts a section in front of the index and makes offsets, trailer and digest right again.
fn with_section(bytes: &[u8], kind: &[u8; 4], flags: u32, body: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    let trailer = bytes.len() - delta::TRAILER_BYTES;
    let index = u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().unwrap()) as usize;
    let mut section = kind.to_vec();
    section.extend_from_slice(&flags.to_le_bytes());
    section.extend_from_slice(&(body.len() as u32).to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&section), body);
    section.extend_from_slice(&crc.to_le_bytes());
    section.extend_from_slice(body);
    let mut out = bytes[..index].to_vec();
    out.extend_from_slice(&section);
    out.extend_from_slice(&bytes[index..trailer]);
    let mut end = bytes[trailer..trailer + 112].to_vec();
    end[..8].copy_from_slice(&((index + section.len()) as u64).to_le_bytes());
    let crc = crc32c::crc32c(&end[..100]);
    end[100..104].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&end);
    let digest = sha2::Sha256::digest(&out);
    out.extend_from_slice(&digest);
    out
}

#[test]
fn an_unknown_section_is_skipped_only_if_it_is_optional() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let events = history(3, 5, 20);
    write_ebd(&path, &events, &Options::default());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, with_section(&bytes, b"FUTR", 1, &vec![7; 200_000])).unwrap();
    assert_eq!(verify(&path).unwrap().events, events.len() as u64);
    assert_eq!(support::read_events(&path), events);
    std::fs::write(&path, with_section(&bytes, b"FUTR", 0, b"body")).unwrap();
    let error = verify(&path).unwrap_err();
    assert_eq!(error.code(), "UNSUPPORTED");
    assert!(error.to_string().contains("FUTR"), "{error}");
}

#[test]
fn lengths_that_lie_are_refused_before_they_are_used() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    write_ebd(&path, &history(3, 5, 20), &Options::default());
    let bytes = std::fs::read(&path).unwrap();
    let first = 20 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    for (offset, width) in [(12, 4), (first + 8, 4)] {
        let mut copy = bytes.clone();
        copy[offset..offset + width].fill(0xFF);
        std::fs::write(&path, &copy).unwrap();
        assert!(matches!(
            verify(&path).unwrap_err().code(),
            "TRUNCATED" | "CORRUPT"
        ));
    }
}

#[test]
fn a_writer_never_writes_over_a_file() {
    let dir = Dir::new();
    let error = DeltaWriter::create(
        &dir.path("missing").join("d.ebd"),
        header(3),
        &Options::default(),
    )
    .err()
    .unwrap();
    assert_eq!(error.code(), "NOT_FOUND");
    let path = dir.path("d.ebd");
    let mut writer = DeltaWriter::create(&path, header(6), &Options::default()).unwrap();
    assert_eq!(
        DeltaWriter::create(&path, header(6), &Options::default())
            .err()
            .unwrap()
            .code(),
        "EXISTS"
    );
    writer
        .push_response(&response(9, false, &history(3, 5, 20)), 1)
        .unwrap();
    assert_eq!(writer.finish(&[]).unwrap().last_revision, 25);
}

#[test]
fn a_failed_conversion_leaves_no_file_and_touches_no_other() {
    let dir = Dir::new();
    let (bad, out) = (dir.path("bad"), dir.path("out"));
    let good = dir.path("good.ebd");
    write_ebd(
        &good,
        &history(3, 5, 500),
        &Options {
            block_bytes: 500,
            ..Options::default()
        },
    );
    let mut bytes = std::fs::read(&good).unwrap();
    let at = bytes.len() - 4000;
    bytes[at] ^= 1;
    std::fs::write(&bad, bytes).unwrap();
    assert!(delta::transcode(&bad, &out, &Options::default(), &Cancel::never()).is_err());
    assert!(delta::export(&bad, &out, Compression::Gzip, &Cancel::never()).is_err());
    assert!(!out.exists());
    std::fs::write(&out, b"somebody's").unwrap();
    assert_eq!(
        delta::transcode(&good, &out, &Options::default(), &Cancel::never())
            .unwrap_err()
            .code(),
        "EXISTS"
    );
    assert_eq!(
        delta::export(&good, &out, Compression::None, &Cancel::never())
            .unwrap_err()
            .code(),
        "EXISTS"
    );
    assert_eq!(std::fs::read(&out).unwrap(), b"somebody's");
}
