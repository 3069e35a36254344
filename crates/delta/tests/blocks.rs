//! Blocks of an `.ebd` read one by one, in any order, by its index.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use delta::{EbdBlocks, Options};
use std::path::Path;
use support::{Dir, Event, history, write_ebd};

type Found = (i64, u64, Vec<u8>, i64);

fn read_backwards(path: &Path) -> delta::Result<Vec<Found>> {
    let mut blocks = EbdBlocks::open(path)?;
    let mut pieces = Vec::new();
    for place in (0..blocks.index().len()).rev() {
        let mut piece = Vec::new();
        blocks.for_each(place, |event| -> delta::Result<()> {
            let kv = event.change.kv;
            piece.push((
                kv.mod_revision,
                event.sub,
                kv.key.to_vec(),
                event.arrived_ms,
            ));
            Ok(())
        })?;
        pieces.push(piece);
    }
    Ok(pieces.into_iter().rev().flatten().collect())
}

fn expected(events: &[Event]) -> Vec<Found> {
    let of_main = events.chunk_by(|a, b| a.main == b.main);
    of_main
        .flat_map(|events| events.iter().zip(0..))
        .map(|(event, sub)| {
            (
                event.main,
                sub,
                event.key.clone(),
                1_700_000_000_000 + event.main,
            )
        })
        .collect()
}

fn small_blocks() -> Options {
    Options {
        block_bytes: 300,
        ..Options::default()
    }
}

#[test]
fn blocks_read_backwards_hold_every_event_with_its_place() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    for seed in 0..20 {
        let events = history(seed, 40, 150);
        let _ = std::fs::remove_file(&path);
        write_ebd(&path, &events, &small_blocks());
        assert!(EbdBlocks::open(&path).unwrap().index().len() > 5);
        assert_eq!(
            read_backwards(&path).unwrap(),
            expected(&events),
            "seed {seed}"
        );
    }
}

#[test]
fn a_flipped_byte_gives_the_events_or_an_error() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let events = history(3, 0, 60);
    write_ebd(&path, &events, &small_blocks());
    let (bytes, whole) = (std::fs::read(&path).unwrap(), expected(&events));
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        std::fs::write(&path, &damaged).unwrap();
        match read_backwards(&path) {
            Ok(found) => assert_eq!(found, whole, "byte {at}"),
            Err(error) => {
                refused += 1;
                let codes = ["CORRUPT", "TRUNCATED", "CHECKSUM", "UNSUPPORTED"];
                assert!(codes.contains(&error.code()), "byte {at}: {error}");
            }
        }
    }
    // Only the digest at the end and the checksum over all are not looked at.
    assert!(
        refused > bytes.len() / 3 - 24,
        "{refused} of {}",
        bytes.len() / 3
    );
}

#[test]
fn an_error_of_the_reader_comes_back_as_it_is() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    write_ebd(&path, &history(3, 0, 20), &Options::default());
    let mut blocks = EbdBlocks::open(&path).unwrap();
    let stop = blocks.for_each(0, |_| -> delta::Result<()> {
        Err(delta::Error::Usage("enough".into()))
    });
    assert_eq!(stop.unwrap_err().to_string(), "enough");
    assert_eq!(
        blocks
            .for_each(7, |_| -> delta::Result<()> { Ok(()) })
            .unwrap_err()
            .code(),
        "USAGE"
    );
}
