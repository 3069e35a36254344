//! Hazard 27: "missing hash" really meant a zip, a `.part` file, an error page, the wrong name. The message says what
//! the file is and what to do.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use bbolt::Cancel;
use etcd_data::trailer::{MissingTrailer, check_trailer};
use std::fs;
use std::path::Path;

fn refusal(path: &Path) -> (String, &'static str) {
    let error =
        check_trailer(path, MissingTrailer::Refuse, &Cancel::never(), &mut |_| {}).unwrap_err();
    (error.to_string(), error.code())
}

#[test]
fn every_wrong_file_is_called_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut tar = vec![0u8; 1024];
    tar[0..6].copy_from_slice(b"db.txt");
    tar[257..262].copy_from_slice(b"ustar");
    let cases: [(&str, &[u8], &str); 13] = [
        ("snapshot.zip", b"PK\x03\x04\x14\0", "a zip archive"),
        ("snapshot.db", b"\x1F\x8B\x08\0", "gzip data"),
        ("snapshot.zst", b"\x28\xB5\x2F\xFD\0", "zstd data"),
        ("snapshot.xz", b"\xFD7zXZ\0\0", "xz data"),
        ("snapshot.tar", &tar, "a tar archive"),
        ("snapshot.zlib", b"\x78\x9C\x01\x02", "zlib data"),
        ("login.db", b"\n<!DOCTYPE html><html><body>", "an HTML page"),
        ("denied.db", b"<?xml version=\"1.0\"?><Error>", "XML"),
        ("events.db", b"{\"events\":[]}", "JSON"),
        (
            "pointer.db",
            b"version https://git-lfs.example\n",
            "text that begins \"version https",
        ),
        ("nothing.db", b"", "empty (0 bytes)"),
        (
            "secret.db",
            b"age-encryption.org/v1\n",
            "encrypted with age",
        ),
        ("zeros.db", &[0; 4096], "nothing but zeros"),
    ];
    for (name, bytes, said) in cases {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let (message, code) = refusal(&path);
        assert!(
            message.contains(said) && message.contains(name),
            "{name}: {message}"
        );
        assert_eq!(code, "UNSUPPORTED", "{name}");
    }
    let part = dir.path().join("snapshot.db.part");
    fs::write(&part, [7; 100]).unwrap();
    assert!(refusal(&part).0.contains("unfinished download"));
}

#[test]
fn a_directory_is_called_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refusal(dir.path()).0.contains("a directory, not a file"));
    fs::create_dir_all(dir.path().join("member/snap")).unwrap();
    fs::write(dir.path().join("member/snap/db"), "x").unwrap();
    assert!(refusal(dir.path()).0.contains("the database in it is"));
    let (_, code) = refusal(&dir.path().join("absent.db"));
    assert_eq!(code, "NOT_FOUND");
}
