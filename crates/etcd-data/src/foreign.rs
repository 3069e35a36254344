//! What a file is that is not an etcd database, said by name. People hand over the zip around a snapshot, a half
//! download, an error page of a proxy, the data directory itself; "missing hash" helps none of them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// Bytes looked at; enough for tar's mark at 257 and the second meta of 16 KiB pages.
const HEAD_BYTES: u64 = 64 * 1024;
/// `magic | version` of a bbolt meta, little-endian; the meta begins 16 bytes into its page.
const BBOLT_MARK: [u8; 8] = [0xED, 0xDA, 0x0C, 0xED, 2, 0, 0, 0];
const META_OFFSET: usize = 16;
const SMALLEST_PAGE: usize = 1024;
const TAR_MARK_OFFSET: usize = 257;
const QUOTED_CHARS: usize = 40;

/// What a file is, from its first bytes and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    /// Has a bbolt meta: whether the rest is sound is another question.
    Bbolt,
    /// Anything else, in words that end a sentence "it is …".
    Foreign(String),
}

/// Looks at a path without following what is in it any further.
pub fn identify(path: &Path) -> Result<FileKind> {
    let metadata = path.metadata().map_err(|e| Error::io("look at", path, e))?;
    if metadata.is_dir() {
        let db = path.join("member").join("snap").join("db");
        return Ok(FileKind::Foreign(match db.is_file() {
            true => format!("a data directory; the database in it is {}", db.display()),
            false => "a directory, not a file".into(),
        }));
    }
    if !metadata.is_file() {
        return Ok(FileKind::Foreign("not a regular file".into()));
    }
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head))
        .map_err(|e| Error::io("read", path, e))?;
    let kind = identify_head(&head);
    Ok(match kind {
        FileKind::Foreign(what) if is_part_file(path) => FileKind::Foreign(format!(
            "{what}; its name says that it is an unfinished download"
        )),
        kind => kind,
    })
}

/// The same from the first bytes of a stream.
#[must_use]
pub fn identify_head(head: &[u8]) -> FileKind {
    if has_bbolt_mark(head) {
        return FileKind::Bbolt;
    }
    FileKind::Foreign(
        by_mark(head)
            .or_else(|| by_text(head))
            .unwrap_or_else(|| by_content(head)),
    )
}

fn has_bbolt_mark(head: &[u8]) -> bool {
    let at = |page: usize| {
        head.get(page.saturating_add(META_OFFSET)..)
            .is_some_and(|b| b.starts_with(&BBOLT_MARK))
    };
    at(0)
        || std::iter::successors(Some(SMALLEST_PAGE), |size| size.checked_mul(2))
            .take_while(|size| *size < head.len())
            .any(at)
}

fn by_mark(head: &[u8]) -> Option<String> {
    let marks: [(&[u8], &str); 9] = [
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"\x1F\x8B", "gzip data; decompress it first (gzip -d)"),
        (
            b"\x28\xB5\x2F\xFD",
            "zstd data; decompress it first (zstd -d)",
        ),
        (b"\xFD7zXZ\0", "xz data; decompress it first (xz -d)"),
        (b"BZh", "bzip2 data; decompress it first (bzip2 -d)"),
        (b"\x1F\x9D", "compress (.Z) data; decompress it first"),
        (
            b"age-encryption.org/",
            "encrypted with age; decrypt it first (age -d)",
        ),
        (b"SQLite format 3\0", "an SQLite database, not a bbolt file"),
    ];
    if let Some((_, what)) = marks.iter().find(|(mark, _)| head.starts_with(mark)) {
        return Some((*what).into());
    }
    if head
        .get(TAR_MARK_OFFSET..)
        .is_some_and(|b| b.starts_with(b"ustar"))
    {
        return Some("a tar archive; unpack it first".into());
    }
    match head {
        [] => Some("empty (0 bytes)".into()),
        // zlib: method 8, and the first two bytes are a multiple of 31.
        [0x78, flags, ..] if (0x7800 | u16::from(*flags)) % 31 == 0 => {
            Some("zlib data; decompress it first".into())
        }
        _ => None,
    }
}

fn by_text(head: &[u8]) -> Option<String> {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be cut by the window.
        Err(e) if e.error_len().is_none() => {
            std::str::from_utf8(head.get(..e.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let text = valid.trim_start_matches('\u{FEFF}').trim_start();
    if text.is_empty()
        || valid
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0C'))
    {
        return None;
    }
    let start: String = text.chars().take(QUOTED_CHARS).collect();
    let lower = start.to_ascii_lowercase();
    Some(
        if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
            "an HTML page, probably a login or error page; download the file itself".into()
        } else if lower.starts_with('<') {
            "XML, probably an error answer of the object store".into()
        } else if lower.starts_with('{') || lower.starts_with('[') {
            "JSON, not a database".into()
        } else {
            format!("text that begins {start:?}")
        },
    )
}

fn by_content(head: &[u8]) -> String {
    if head.iter().all(|byte| *byte == 0) {
        return "nothing but zeros at its beginning; the download or copy did not finish".into();
    }
    "no bbolt file: it has no valid meta page".into()
}

fn is_part_file(path: &Path) -> bool {
    path.extension().is_some_and(|ext| {
        ["part", "partial", "crdownload", "tmp"]
            .iter()
            .any(|name| ext.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(head: &[u8]) -> String {
        match identify_head(head) {
            FileKind::Bbolt => "bbolt".into(),
            FileKind::Foreign(what) => what,
        }
    }

    #[test]
    fn a_meta_is_found_on_either_page_of_any_size() {
        let mut file = vec![0u8; 40_000];
        assert!(said(&file).contains("zeros"));
        file[16384 + 16..16384 + 24].copy_from_slice(&BBOLT_MARK);
        assert_eq!(identify_head(&file), FileKind::Bbolt);
        let mut first = vec![0u8; 4096];
        first[16..24].copy_from_slice(&BBOLT_MARK);
        assert_eq!(identify_head(&first), FileKind::Bbolt);
    }

    #[test]
    fn binary_without_a_mark_is_no_text() {
        assert!(said(b"\x00\x01\x02\xFF").contains("no bbolt file"));
        assert!(said("gr\u{fc}n".as_bytes()).contains("text that begins"));
    }
}
