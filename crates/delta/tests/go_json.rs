//! The Go tool's own files, and the bytes that it would write.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod support;

use delta::{Cancel, Compression, DeltaFile, Format, JsonReader, Options};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use support::{Dir, read_events, replay, verify};

/// upstream.md 3.1: 439 bytes, whose SHA-256 is 8def48d0…dd8ec.
const EXAMPLE: &str = concat!(
    r#"[{"etcdEvent":{"kv":{"key":"L2FwcC9hbHBoYQ==","create_revision":42,"mod_revision":42,"version":1,"#,
    r#""value":"b25l"}},"time":"2026-07-24T09:15:02.123456789Z"},"#,
    r#"{"etcdEvent":{"kv":{"key":"L2FwcC9iZXRh","create_revision":30,"mod_revision":43,"version":5,"value":"dHdv","#,
    r#""lease":7587862094519312}},"time":"2026-07-24T09:15:02.5+02:00"},"#,
    r#"{"etcdEvent":{"type":1,"kv":{"key":"L2FwcC9nYW1tYQ==","mod_revision":43}},"#,
    r#""time":"2026-07-24T09:15:02.5+02:00"}]"#,
);

fn with_digest(json: &[u8]) -> Vec<u8> {
    let mut file = json.to_vec();
    file.extend_from_slice(&Sha256::digest(json));
    file
}

fn write(dir: &Dir, name: &str, json: &str) -> PathBuf {
    let path = dir.path(name);
    std::fs::write(&path, with_digest(json.as_bytes())).unwrap();
    path
}

#[test]
fn the_documented_example_is_read_and_written_again() {
    let digest: String = Sha256::digest(EXAMPLE)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(EXAMPLE.len(), 439);
    assert!(
        digest.starts_with("8def48d0") && digest.ends_with("dd8ec"),
        "{digest}"
    );
    let dir = Dir::new();
    let path = write(&dir, "example", EXAMPLE);
    let summary = verify(&path).unwrap();
    assert_eq!(
        (
            summary.first_revision,
            summary.last_revision,
            summary.events
        ),
        (42, 43, 3)
    );
    assert_eq!(summary.first_time_ms, 1_784_884_502_123);
    let events = read_events(&path);
    assert_eq!(events[1].lease, 7_587_862_094_519_312);
    assert_eq!(
        (events[1].key.as_slice(), events[1].value.as_slice()),
        (b"/app/beta".as_slice(), b"two".as_slice())
    );
    assert!(events[2].delete && events[2].version == 0);
    let (local, again) = (dir.path("local.ebd"), dir.path("again"));
    delta::transcode(&path, &local, &Options::default(), &Cancel::never()).unwrap();
    delta::export(&local, &again, Compression::None, &Cancel::never()).unwrap();
    let utc = EXAMPLE
        .replace("02.123456789Z", "02.123Z")
        .replace("09:15:02.5+02:00", "07:15:02.5Z");
    assert_eq!(std::fs::read(&again).unwrap(), with_digest(utc.as_bytes()));
}

#[test]
fn any_order_case_whitespace_and_unknown_names_are_read_as_go_does() {
    let dir = Dir::new();
    let odd = r#" [ {"TIME":null , "extra":{"a":[1,{"b":"\"}]"},null,true,-1.5e3]}, "ETCDEVENT" :{ "KV":{"Version":1,
        "VALUE":"b25l","key":"L2FwcC9hbHBo\u0059Q=\u003d","lease":null,"mod_revision":42,"create_revision":42},
        "prev_kv":{"key":"eA=="},"type":0 }
        } , {"etcdEvent":{"kv":{"key":"eA==","mod_revision":9},"kv":{"key":"L2Fw\ncC9i\r\nZXRh","mod_revision":43},"type":1},
        "time":"2026-07-24T09:15:02.5+02:00"} ] "#;
    let events = read_events(&write(&dir, "odd", &odd.replace("\n        ", "\r\n\t")));
    assert_eq!(
        (
            events[0].key.as_slice(),
            events[0].value.as_slice(),
            events[0].version
        ),
        (b"/app/alpha".as_slice(), b"one".as_slice(), 1)
    );
    assert_eq!(
        (events[1].key.as_slice(), events[1].main, events[1].delete),
        (b"/app/beta".as_slice(), 43, true)
    );
}

#[test]
fn numbers_of_64_bits_are_exact() {
    let dir = Dir::new();
    let event = |main: i64| {
        format!(
            r#"{{"etcdEvent":{{"kv":{{"key":"aw==","create_revision":1,"mod_revision":{main},"version":9007199254740993,"lease":-9223372036854775808}}}},"time":"2026-07-24T09:15:02Z"}}"#
        )
    };
    let last = i64::MAX - 1;
    let path = write(
        &dir,
        "big",
        &format!("[{},{}]", event(last - 1), event(last)),
    );
    let events = read_events(&path);
    assert_eq!(
        (events[1].main, events[1].version, events[1].lease),
        (last, 9_007_199_254_740_993, i64::MIN)
    );
}

#[test]
fn what_is_wrong_is_told_by_its_kind() {
    let dir = Dir::new();
    let cut = dir.path("cut");
    let code = |path: &Path| verify(path).unwrap_err().code();
    let whole = with_digest(EXAMPLE.as_bytes());
    std::fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(code(&cut), "TRUNCATED" | "CHECKSUM" | "CORRUPT"));
    std::fs::write(&cut, &whole[..300]).unwrap();
    assert_eq!(code(&cut), "TRUNCATED");
    let mut flipped = whole.clone();
    let value = EXAMPLE.find("b25l").unwrap();
    flipped[value] = b'c';
    std::fs::write(&cut, &flipped).unwrap();
    assert_eq!(code(&cut), "CHECKSUM");
    for (name, from, to, wanted) in [
        (
            "gap",
            "\"mod_revision\":43",
            "\"mod_revision\":44",
            "REVISION_GAP",
        ),
        (
            "back",
            "\"mod_revision\":42",
            "\"mod_revision\":44",
            "NOT_SORTED",
        ),
        ("type", "\"type\":1", "\"type\":2", "UNSUPPORTED"),
        ("float", "\"version\":5", "\"version\":5.0", "CORRUPT"),
        ("base64", "b25l", "b25", "CORRUPT"),
        (
            "time",
            "2026-07-24T09:15:02.1",
            "2026-02-30T09:15:02.1",
            "CORRUPT",
        ),
        ("key", "\"key\":\"L2FwcC9hbHBoYQ==\",", "", "CORRUPT"),
        ("tail", "\"}]", "\"}]x", "CORRUPT"),
        ("comma", "},{", "},,{", "CORRUPT"),
        ("empty", EXAMPLE, "[]", "CORRUPT"),
    ] {
        assert_eq!(
            code(&write(&dir, name, &EXAMPLE.replace(from, to))),
            wanted,
            "{name}"
        );
    }
}

fn fixture_sets() -> Vec<(String, Vec<PathBuf>)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/fixtures"));
    let mut sets = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("gardener-") {
            let mut deltas = Vec::new();
            collect_deltas(&path.join("store"), &mut deltas);
            deltas.sort_by_key(|path| revisions_of(path));
            sets.push((name, deltas));
        }
    }
    assert_eq!(sets.len(), 7, "the fixtures of the Go tool are all there");
    sets
}

fn collect_deltas(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_deltas(&path, out);
        } else if path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("Incr-")
        {
            out.push(path);
        }
    }
}

fn revisions_of(path: &Path) -> (i64, i64) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let mut parts = name
        .split('-')
        .skip(1)
        .map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap(), parts.next().unwrap())
}

fn compression_of(path: &Path) -> Compression {
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("gz") => Compression::Gzip,
        Some("zlib") => Compression::Zlib,
        Some("Z") => Compression::Lzw,
        _ => Compression::None,
    }
}

#[test]
fn every_delta_of_the_go_tool_verifies_and_is_told_by_content() {
    for (set, deltas) in fixture_sets() {
        for path in deltas {
            let nameless = Dir::new();
            let copy = nameless.path("object");
            std::fs::copy(&path, &copy).unwrap();
            assert_eq!(
                DeltaFile::open(&copy).unwrap().format(),
                Format::Json(compression_of(&path)),
                "{set}"
            );
            let summary = verify(&copy).unwrap();
            assert_eq!(
                (summary.first_revision, summary.last_revision),
                revisions_of(&path),
                "{set}"
            );
        }
    }
}

/// The text of a delta with its times cut to milliseconds: what our own export can know.
fn cut_times(json: &str) -> String {
    let mut pieces = json.split("\"time\":\"");
    let mut out = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (time, rest) = piece.split_once('"').unwrap();
        let (seconds, fraction) = time
            .trim_end_matches('Z')
            .split_once('.')
            .unwrap_or((time.trim_end_matches('Z'), ""));
        let fraction = fraction.get(..3).unwrap_or(fraction).trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        out.push_str(&format!("\"time\":\"{seconds}{dot}{fraction}Z\"{rest}"));
    }
    out
}

#[test]
fn our_export_has_the_go_tools_bytes() {
    let dir = Dir::new();
    for (set, deltas) in fixture_sets()
        .into_iter()
        .filter(|(set, _)| set.starts_with("gardener-plain"))
    {
        for (index, path) in deltas.iter().enumerate() {
            let (local, out) = (
                dir.path(&format!("{index}.ebd")),
                dir.path(&format!("{index}")),
            );
            delta::transcode(path, &local, &Options::default(), &Cancel::never()).unwrap();
            delta::export(&local, &out, Compression::None, &Cancel::never()).unwrap();
            let theirs = std::fs::read(path).unwrap();
            let theirs = std::str::from_utf8(&theirs[..theirs.len() - 32]).unwrap();
            assert_eq!(
                std::fs::read(&out).unwrap(),
                with_digest(cut_times(theirs).as_bytes()),
                "{set}"
            );
        }
    }
}

#[test]
fn the_record_digest_equals_that_of_the_database_the_deltas_came_from() {
    for (set, deltas) in fixture_sets() {
        if set.contains("compacted") {
            continue; // There the database has fewer records than the deltas.
        }
        let dir = Dir::new();
        let base = revisions_of(&deltas[0]).0 - 1;
        let locals: Vec<PathBuf> = (0..deltas.len())
            .map(|index| dir.path(&format!("{index}.ebd")))
            .collect();
        for (path, local) in deltas.iter().zip(&locals) {
            delta::transcode(path, local, &Options::default(), &Cancel::never()).unwrap();
        }
        let (requests, _, replay) = replay(base, &locals).unwrap();
        assert_eq!(requests.len() as i64, replay.position() - base, "{set}");
        let db = unpack_truth(&set, &dir);
        let mut digest = etcd_data::RecordDigest::new();
        let bucket = db.bucket(b"key").unwrap().unwrap();
        let mut scan = bucket
            .scan_from(&etcd_data::Revision::new(base + 1, 0).to_key())
            .unwrap();
        let mut last = 0;
        while let Some((key, value)) = scan.next().unwrap() {
            last = etcd_data::RecordKey::parse(key).unwrap().revision.main;
            digest.update(key, value);
        }
        assert_eq!(replay.position(), last, "{set}");
        assert_eq!(replay.checkpoint().sha256, digest.checkpoint(), "{set}");
    }
}

fn unpack_truth(set: &str, dir: &Dir) -> bbolt::Db {
    let packed = format!(
        "{}/../../test/fixtures/{set}/truth.db.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut decoder = flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap());
    let path = dir.path("truth.db");
    std::io::copy(&mut decoder, &mut std::fs::File::create(&path).unwrap()).unwrap();
    bbolt::Db::open(&path).unwrap()
}

#[test]
fn a_value_larger_than_any_window_streams() {
    let dir = Dir::new();
    let value = vec![0x5A; 5 << 20];
    let events = [
        support::Event::put(3, b"large", &value),
        support::Event::put(4, b"small", b"v"),
    ];
    let (ebd, json) = (dir.path("a.ebd"), dir.path("a.json"));
    support::write_ebd(&ebd, &events, &Options::default());
    delta::export(&ebd, &json, Compression::Gzip, &Cancel::never()).unwrap();
    assert_eq!(read_events(&json), events);
    let mut reader = JsonReader::open(&json, Compression::Gzip).unwrap();
    assert_eq!(
        reader.next_event().unwrap().unwrap().change.kv.value.len(),
        5 << 20
    );
}
