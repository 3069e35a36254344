//! What a killed writer leaves is cut to whole revisions, at whatever byte it was killed.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod support;

use delta::{Cancel, DeltaWriter, Options, Recovery, recover};
use support::{Dir, Event, header, history, read_events, response, verify};

const SMALL: Options = Options {
    block_bytes: 400,
    codec: delta::Codec::Zstd,
    zstd_level: 1,
};

/// A spool whose revisions are sealed as they come: small ones, and one in fragments that spans blocks.
fn events() -> Vec<Event> {
    let mut events = history(4, 2, 40);
    events.extend((0..30).map(|i| Event::put(43, format!("large{i:02}").as_bytes(), &[i; 50])));
    events.push(Event::put(44, b"after", b"v"));
    events
}

fn spool(dir: &Dir, events: &[Event]) -> DeltaWriter {
    let mut writer = DeltaWriter::create(&dir.path("spool"), header(3), &SMALL).unwrap();
    for revision in events.chunk_by(|a, b| a.main == b.main) {
        let mut pieces = revision.chunks(4).peekable();
        while let Some(piece) = pieces.next() {
            writer
                .push_response(&response(99, pieces.peek().is_some(), piece), piece[0].main)
                .unwrap();
        }
    }
    writer
}

fn recovered(dir: &Dir) -> (Box<DeltaWriter>, u64) {
    match recover(&dir.path("spool"), &SMALL, &Cancel::never()).unwrap() {
        Recovery::Cut { writer, cut_bytes } => (writer, cut_bytes),
        Recovery::Finished(_) => panic!("the spool was not finished"),
    }
}

fn up_to(events: &[Event], last: i64) -> Vec<Event> {
    events
        .iter()
        .filter(|event| event.main <= last)
        .cloned()
        .collect()
}

#[test]
fn killed_at_any_byte_whole_revisions_are_kept_and_the_delta_goes_on() {
    let events = events();
    let full = Dir::new();
    let mut writer = spool(&full, &events);
    writer.seal().unwrap();
    drop(writer);
    let bytes = std::fs::read(full.path("spool")).unwrap();
    let header_bytes = 20 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut last_kept = 0;
    for cut in header_bytes..=bytes.len() {
        if cut % 7 != 0 && cut != bytes.len() && cut > header_bytes + 40 {
            continue;
        }
        let dir = Dir::new();
        std::fs::write(dir.path("spool"), &bytes[..cut]).unwrap();
        let (mut writer, _) = recovered(&dir);
        let stats = writer.stats();
        assert!(
            !stats.partial && stats.last_revision >= last_kept,
            "more bytes never mean fewer revisions"
        );
        last_kept = stats.last_revision;
        let resume = writer.resume_revision();
        assert_eq!(resume, if last_kept == 0 { 3 } else { last_kept + 1 });
        for revision in events
            .chunk_by(|a, b| a.main == b.main)
            .filter(|revision| revision[0].main >= resume)
        {
            writer
                .push_response(&response(99, false, revision), revision[0].main)
                .unwrap();
        }
        writer.finish(&[]).unwrap();
        assert_eq!(
            verify(&dir.path("spool")).unwrap().events,
            events.len() as u64
        );
        assert_eq!(read_events(&dir.path("spool")), events);
    }
    assert_eq!(last_kept, 44);
}

#[test]
fn a_partial_revision_on_disk_is_cut_off() {
    let events = events();
    let dir = Dir::new();
    let mut writer = spool(&dir, &up_to(&events, 42));
    let large: Vec<Event> = events
        .iter()
        .filter(|event| event.main == 43)
        .cloned()
        .collect();
    writer
        .push_response(&response(99, true, &large[..25]), 43)
        .unwrap();
    writer.seal().unwrap();
    drop(writer);
    let (mut writer, cut_bytes) = recovered(&dir);
    assert!(
        cut_bytes > 400,
        "blocks of the partial revision were on disk"
    );
    assert_eq!(
        (writer.stats().last_revision, writer.resume_revision()),
        (42, 43)
    );
    writer.finish(&[]).unwrap();
    assert_eq!(read_events(&dir.path("spool")), up_to(&events, 42));
}

#[test]
fn dropping_a_partial_revision_also_cuts_the_disk() {
    let events = events();
    let dir = Dir::new();
    let mut writer = spool(&dir, &up_to(&events, 42));
    writer.seal().unwrap();
    let before = std::fs::metadata(dir.path("spool")).unwrap().len();
    let large: Vec<Event> = events
        .iter()
        .filter(|event| event.main == 43)
        .cloned()
        .collect();
    writer
        .push_response(&response(99, true, &large[..25]), 43)
        .unwrap();
    assert!(std::fs::metadata(dir.path("spool")).unwrap().len() > before);
    assert_eq!(writer.drop_partial().unwrap(), 43);
    assert_eq!(std::fs::metadata(dir.path("spool")).unwrap().len(), before);
}

#[test]
fn a_finished_file_is_published_as_it_is() {
    let dir = Dir::new();
    let written = spool(&dir, &events()).finish(&[]).unwrap();
    let before = std::fs::read(dir.path("spool")).unwrap();
    match recover(&dir.path("spool"), &SMALL, &Cancel::never()).unwrap() {
        Recovery::Finished(summary) => assert_eq!(summary.sha256, written.sha256),
        Recovery::Cut { .. } => panic!("it was finished"),
    }
    assert_eq!(std::fs::read(dir.path("spool")).unwrap(), before);
}

#[test]
fn damage_in_the_middle_keeps_what_is_before_it() {
    let events = events();
    let dir = Dir::new();
    spool(&dir, &events).finish(&[]).unwrap();
    let mut bytes = std::fs::read(dir.path("spool")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(dir.path("spool"), bytes).unwrap();
    let (mut writer, cut_bytes) = recovered(&dir);
    let last = writer.stats().last_revision;
    assert!(last > 3 && last < 44 && cut_bytes > 0);
    writer.finish(&[]).unwrap();
    assert_eq!(read_events(&dir.path("spool")), up_to(&events, last));
}

#[test]
fn leases_of_a_recovered_delta_are_known_again() {
    let dir = Dir::new();
    let events = events();
    let mut writer = spool(&dir, &events);
    writer.seal().unwrap();
    let leases = writer.leases();
    drop(writer);
    let (writer, _) = recovered(&dir);
    assert!(!leases.is_empty());
    assert_eq!(writer.leases(), leases);
}

#[test]
fn what_is_no_spool_is_not_touched() {
    let dir = Dir::new();
    for content in [
        b"".as_slice(),
        b"not a delta at all, but somebody's file",
        b"\x89EBD\r\n\x1A\n\x02\0\0\0\0\0\0\0\0\0\0\0",
    ] {
        std::fs::write(dir.path("spool"), content).unwrap();
        assert!(recover(&dir.path("spool"), &SMALL, &Cancel::never()).is_err());
        assert_eq!(std::fs::read(dir.path("spool")).unwrap(), content);
    }
}
