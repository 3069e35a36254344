//! What the fuzz targets do with their bytes. Also compiled into `tests/corpus.rs`, which runs the corpus.
#![allow(dead_code)]

use delta::ebd::BlockDecoder;
use delta::watch::{WatchEvents, parse_head};
use delta::{Cancel, DeltaFile, DeltaWriter, Header, JsonReader, Options, Replay, recover};
use std::path::Path;

/// A file as it is, for every verb that opens one; and, since checksums would keep the fuzzer out, the same bytes as
/// the body of a block whose checksum was right.
pub fn ebd(bytes: &[u8]) {
    in_file(bytes, |path| {
        every_reader(path);
        let _ = recover(path, &Options::default(), &Cancel::never());
    });
    if let Ok(mut decoder) = BlockDecoder::new()
        && let Ok(block) = decoder.block(bytes)
    {
        let mut events = block.events();
        while let Ok(Some(event)) = events.next_event() {
            let _ = delta::event::Change::parse(event.bytes);
        }
    }
}

/// Decompressed JSON straight into the reader, and the same bytes as a file of whatever compression they look like.
pub fn json(bytes: &[u8]) {
    let mut reader = JsonReader::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
    while let Ok(Some(_)) = reader.next_event() {}
    in_file(bytes, every_reader);
}

/// One response, parsed and pushed: whatever is taken must make a sound delta.
pub fn watch_response(bytes: &[u8]) {
    let _ = parse_head(bytes);
    let mut events = WatchEvents::new(bytes);
    let first = events
        .next_event()
        .ok()
        .flatten()
        .map_or(1, |(_, event)| event.mod_revision);
    let Ok(dir) = tempfile::tempdir() else { return };
    let path = dir.path().join("d.ebd");
    let header = Header {
        start_revision: first,
        ..Header::default()
    };
    let options = Options {
        block_bytes: 64,
        ..Options::default()
    };
    let Ok(mut writer) = DeltaWriter::create(&path, header, &options) else {
        return;
    };
    let _ = writer.push_response(bytes, 1);
    let _ = writer.push_response(bytes, 2);
    writer
        .drop_partial()
        .expect("a partial revision can always be dropped");
    if writer.finish(&[]).is_ok() {
        DeltaFile::open(&path)
            .and_then(|file| file.verify(&Cancel::never()))
            .expect("what was finished is sound");
    }
}

fn every_reader(path: &Path) {
    let cancel = Cancel::never();
    if let Ok(file) = DeltaFile::open(path) {
        let _ = file.leases();
        let _ = file.verify(&cancel);
    }
    let _ = delta::last_event(path, &cancel);
    let mut replay = Replay::new(0);
    if replay.open(path).is_ok() {
        while let Ok(Some(_)) = replay.next_batch(&cancel) {}
    }
}

fn in_file(bytes: &[u8], each: impl FnOnce(&Path)) {
    let Ok(file) = tempfile::NamedTempFile::new() else {
        return;
    };
    if std::fs::write(file.path(), bytes).is_ok() {
        each(file.path());
    }
}
