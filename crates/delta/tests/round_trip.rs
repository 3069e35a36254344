//! What goes into a delta comes out of it, in either format, whatever the block size and codec.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod support;

use delta::{Cancel, Codec, Compression, DeltaFile, DeltaWriter, Format, Lease, Options};
use proptest::prelude::*;
use support::{Dir, Event, header, history, read_events, response, verify, write_ebd};

fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let event = (
        proptest::collection::vec(any::<u8>(), 1..40),
        proptest::collection::vec(any::<u8>(), 0..300),
        any::<bool>(),
        any::<bool>(),
        any::<i64>(),
        1..i64::MAX,
    );
    (1..i64::MAX - 1000, proptest::collection::vec(event, 1..60)).prop_map(|(start, parts)| {
        let mut main = start;
        let mut events: Vec<Event> = Vec::new();
        for (key, value, delete, same_main, lease, version) in parts {
            if !events.is_empty() && !same_main {
                main += 1;
            }
            events.push(if delete {
                Event::delete(main, &key)
            } else {
                Event {
                    version,
                    lease,
                    create: 1 + version % main,
                    ..Event::put(main, &key, &value)
                }
            });
        }
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_survive_ebd_and_every_json(events in any_events(), block_bytes in 1usize..2000, zstd: bool) {
        let dir = Dir::new();
        let options = Options { block_bytes, codec: if zstd { Codec::Zstd } else { Codec::None }, ..Options::default() };
        let ebd = dir.path("a.ebd");
        let written = write_ebd(&ebd, &events, &options);
        let mut verified = verify(&ebd).unwrap();
        prop_assert!(verified.last_event.take().is_some());
        prop_assert_eq!(&verified, &written);
        prop_assert_eq!(&read_events(&ebd), &events);
        for compression in [Compression::None, Compression::Gzip, Compression::Zlib, Compression::Lzw] {
            let json = dir.path(&format!("{compression:?}.json"));
            let exported = delta::export(&ebd, &json, compression, &Cancel::never()).unwrap();
            prop_assert_eq!(DeltaFile::open(&json).unwrap().format(), Format::Json(compression));
            let summary = verify(&json).unwrap();
            prop_assert_eq!((exported.sha256, exported.bytes), (summary.sha256, summary.bytes));
            prop_assert_eq!(summary.events, written.events);
            prop_assert_eq!(&read_events(&json), &events);
        }
    }
}

#[test]
fn the_trailer_alone_tells_what_the_file_holds() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let events = history(1, 100, 500);
    let written = write_ebd(
        &path,
        &events,
        &Options {
            block_bytes: 4096,
            ..Options::default()
        },
    );
    let bytes = std::fs::read(&path).unwrap();
    let end = &bytes[bytes.len() - delta::TRAILER_BYTES..];
    let tail = delta::Tail::decode(end, bytes.len() as u64).unwrap();
    assert_eq!(
        (tail.trailer.first_revision, tail.trailer.last_revision),
        (101, 600)
    );
    assert_eq!(tail.trailer.events, events.len() as u64);
    assert_eq!(
        tail.trailer.revision_events_max,
        written.revision_events_max
    );
    let start = tail.trailer.index_offset as usize + 16;
    let index =
        delta::ebd::IndexEntry::decode_all(&bytes[start..bytes.len() - delta::TRAILER_BYTES])
            .unwrap();
    assert_eq!(index.len() as u64, tail.trailer.blocks);
    assert_eq!(
        index
            .iter()
            .map(|entry| u64::from(entry.events))
            .sum::<u64>(),
        tail.trailer.events
    );
    assert_eq!(index.last().unwrap().offset, tail.trailer.last_block_offset);
}

#[test]
fn any_block_can_be_decoded_alone() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let events = history(1, 100, 500);
    write_ebd(
        &path,
        &events,
        &Options {
            block_bytes: 4096,
            ..Options::default()
        },
    );
    let bytes = std::fs::read(&path).unwrap();
    let trailer = bytes.len() - delta::TRAILER_BYTES;
    let tail = delta::Tail::decode(&bytes[trailer..], bytes.len() as u64).unwrap();
    let index_start = tail.trailer.index_offset as usize + 16;
    let index = delta::ebd::IndexEntry::decode_all(&bytes[index_start..trailer]).unwrap();
    let mut decoder = delta::ebd::BlockDecoder::new().unwrap();
    let mut revisions = Vec::new();
    for (at, entry) in index.iter().enumerate().rev() {
        let end = index
            .get(at + 1)
            .map_or(tail.trailer.index_offset, |next| next.offset) as usize;
        let block = decoder.section(&bytes[entry.offset as usize..end]).unwrap();
        assert_eq!(
            (block.head.first_revision, block.head.first_sub),
            (entry.first_revision, entry.first_sub)
        );
        let mut stored = block.events();
        let mut here = Vec::new();
        while let Some(event) = stored.next_event().unwrap() {
            here.push(delta::EventHead::parse(event.bytes).unwrap().mod_revision);
        }
        assert_eq!(
            (here[0], *here.last().unwrap()),
            (entry.first_revision, entry.last_revision)
        );
        revisions.splice(0..0, here);
    }
    assert_eq!(
        revisions,
        events.iter().map(|event| event.main).collect::<Vec<_>>()
    );
}

#[test]
fn leases_and_origin_are_kept() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let mut writer = DeltaWriter::create(&path, header(5), &Options::default()).unwrap();
    let put = Event {
        lease: -3,
        ..Event::put(5, b"k", b"v")
    };
    assert_eq!(
        writer
            .push_response(&response(5, false, std::slice::from_ref(&put)), 1)
            .unwrap()
            .new_leases,
        [-3]
    );
    let again = Event {
        version: 2,
        main: 6,
        ..put
    };
    assert_eq!(
        writer
            .push_response(&response(6, false, &[again]), 2)
            .unwrap()
            .new_leases,
        [] as [i64; 0]
    );
    assert_eq!(writer.leases(), [-3]);
    let leases = [
        Lease {
            id: 9,
            granted_ttl: 60,
        },
        Lease {
            id: -3,
            granted_ttl: i64::MAX,
        },
    ];
    writer.finish(&leases).unwrap();
    let file = DeltaFile::open(&path).unwrap();
    assert_eq!(file.header(), Some(&header(5)));
    assert_eq!(file.leases().unwrap(), [leases[1], leases[0]]);
    assert_eq!(verify(&path).unwrap().leases, 2);
}

#[test]
fn arrival_times_survive_clocks_that_go_back() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let times = [
        1_700_000_000_500,
        1_700_000_000_500,
        1_600_000_000_000,
        1_700_000_000_501,
        -7,
    ];
    let mut writer = DeltaWriter::create(
        &path,
        header(1),
        &Options {
            block_bytes: 40,
            ..Options::default()
        },
    )
    .unwrap();
    for (main, time) in (1..).zip(times) {
        writer
            .push_response(
                &response(main, false, &[Event::put(main, b"k", b"v")]),
                time,
            )
            .unwrap();
    }
    let summary = writer.finish(&[]).unwrap();
    assert_eq!(
        (summary.first_time_ms, summary.last_time_ms),
        (times[0], -7)
    );
    let mut reader = delta::EbdReader::open(&path).unwrap();
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        let mut events = block.events();
        while let Some(event) = events.next_event().unwrap() {
            seen.push(event.arrived_ms);
        }
    }
    assert_eq!(seen, times);
}

#[test]
fn the_last_event_is_the_same_from_either_format() {
    let dir = Dir::new();
    let (ebd, json) = (dir.path("a.ebd"), dir.path("a.json"));
    let events = history(7, 10, 300);
    write_ebd(
        &ebd,
        &events,
        &Options {
            block_bytes: 700,
            ..Options::default()
        },
    );
    delta::export(&ebd, &json, Compression::Gzip, &Cancel::never()).unwrap();
    let last = delta::last_event(&ebd, &Cancel::never()).unwrap();
    assert_eq!(last, delta::last_event(&json, &Cancel::never()).unwrap());
    let wanted = events.last().unwrap();
    assert_eq!(
        (last.key.as_slice(), last.revision.main, last.tombstone),
        (wanted.key.as_slice(), 310, wanted.delete)
    );
    assert_eq!(
        last.revision.sub + 1,
        events.iter().filter(|event| event.main == 310).count() as i64
    );
    assert_eq!(verify(&ebd).unwrap().last_event, Some(last));
}

#[test]
fn hazards_13_and_16_a_revision_of_50_mb_and_one_of_10000_events_pass_whole() {
    let dir = Dir::new();
    let (ebd, json) = (dir.path("a.ebd"), dir.path("a.json"));
    let large =
        (0..50).map(|i| Event::put(7, format!("large{i}").as_bytes(), &vec![i as u8; 1 << 20]));
    let many = (0..10_000).map(|i| Event::put(8, format!("many{i:05}").as_bytes(), b"v"));
    let events: Vec<Event> = large
        .chain(many)
        .chain([Event::put(9, b"one", &vec![9; 3 << 20])])
        .collect();
    let summary = write_ebd(&ebd, &events, &Options::default());
    assert_eq!((summary.first_revision, summary.last_revision), (7, 9));
    assert_eq!(summary.revision_events_max, 10_000);
    assert!(summary.revision_bytes_max > 50 << 20);
    assert_eq!(read_events(&ebd), events);
    delta::export(&ebd, &json, Compression::None, &Cancel::never()).unwrap();
    assert_eq!(read_events(&json), events);
    let (requests, ..) = support::replay(6, &[ebd]).unwrap();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].len() > 50 << 20);
}
