//! A disk that is full for a while loses nothing: what was refused is written when there is space again.

use crate::ebd::Header;
use crate::event::{Change, Kind};
use crate::write::{DeltaWriter, Options};
use crate::{Cancel, DeltaFile};
use etcd_data::KeyValueRef;
use etcd_data::proto::{put_bytes_field, put_varint_field};
use std::fs::{File, OpenOptions};

/// One transaction of `events` puts of 100 bytes.
fn response(main: i64, events: u8) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint_field(&mut out, 2, 1);
    for key in 0..events {
        let kv = KeyValueRef {
            key: &[b'k', key],
            create_revision: main,
            mod_revision: main,
            version: 1,
            value: &[key; 100],
            lease: 0,
        };
        let mut event = Vec::new();
        Change {
            kind: Kind::Put,
            kv,
        }
        .encode(&mut event);
        put_bytes_field(&mut out, 11, &event);
    }
    out
}

fn full_disk() -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/full")
        .unwrap()
}

#[test]
fn events_refused_by_a_full_disk_are_taken_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.ebd");
    let options = Options {
        block_bytes: 1000,
        ..Options::default()
    };
    let header = Header {
        start_revision: 1,
        ..Header::default()
    };
    let mut writer = DeltaWriter::create(&path, header, &options).unwrap();
    let mut refused = 0;
    while writer.resume_revision() < 100 {
        let main = writer.resume_revision();
        let disk = (main % 3 == 0).then(|| writer.log().out().swap_file(full_disk()));
        let result = writer.push_response(&response(main, (main % 40) as u8 + 1), main);
        if let Some(disk) = disk {
            writer.log().out().swap_file(disk);
        }
        if let Err(error) = result {
            assert_eq!(error.code(), "NO_SPACE");
            assert_eq!(
                writer
                    .push_response(&response(main, 1), 0)
                    .unwrap_err()
                    .code(),
                "USAGE"
            );
            assert!(writer.drop_partial().unwrap() <= main + 1);
            refused += 1;
            let main = writer.resume_revision();
            writer
                .push_response(&response(main, (main % 40) as u8 + 1), main)
                .unwrap();
        }
    }
    assert!(refused > 10, "{refused}");
    let disk = writer.log().out().swap_file(full_disk());
    assert_eq!(writer.finish(&[]).unwrap_err().code(), "NO_SPACE");
    writer.log().out().swap_file(disk);
    let written = writer.finish(&[]).unwrap();
    let summary = DeltaFile::open(&path)
        .unwrap()
        .verify(&Cancel::never())
        .unwrap();
    assert_eq!(
        (summary.sha256, summary.last_revision),
        (written.sha256, writer.stats().last_revision)
    );
    let events: i64 = (1..=summary.last_revision).map(|main| main % 40 + 1).sum();
    assert_eq!(summary.events, events as u64);
}
