//! Names of WAL files: `%016x-%016x.wal`, sequence number and raft index of the first entry.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Most files in a WAL directory that are looked at; etcd keeps five, and one per 64 MB that it still needs.
pub const MAX_WAL_FILES: usize = 100_000;
const SUFFIX: &str = ".wal";
const MAX_HEX_DIGITS: usize = 16;

/// One file of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalFile {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Counts the files of a member from 0.
    pub sequence: u64,
    /// Raft index of its first entry.
    pub index: u64,
}

/// The files of a log in order, and the names that are none of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalNames {
    /// By name, which is by sequence number.
    pub files: Vec<WalFile>,
    /// Passed over by etcd, with a warning. Left-overs of a crash (`*.tmp`) are not among them.
    pub strange: Vec<String>,
}

/// Lists a WAL directory.
pub fn list_wal(dir: &Path) -> Result<WalNames> {
    let failed = |e| Error::io("list", dir, e);
    let mut found = WalNames::default();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some((sequence, index)) = parse(name) {
            found.files.push(WalFile {
                name: name.to_owned(),
                path: dir.join(name),
                sequence,
                index,
            });
        } else if !name.ends_with(".tmp") {
            found.strange.push(name.to_owned());
        }
        if found.files.len() + found.strange.len() > MAX_WAL_FILES {
            return Err(Error::Unsupported {
                what: format!("{}: more than {MAX_WAL_FILES} files", dir.display()),
            });
        }
    }
    found.files.sort_by(|a, b| a.name.cmp(&b.name));
    found.strange.sort();
    Ok(found)
}

/// The files that hold every entry behind `index`: from the last one that begins at or before it. `Err` says why
/// etcd could not open the log there.
pub fn files_from(files: &[WalFile], index: u64) -> Result<&[WalFile], String> {
    let Some(at) = files.iter().rposition(|file| file.index <= index) else {
        let first = files.first().map_or("there is none", |file| &file.name);
        return Err(format!(
            "no WAL file begins at or before raft index {index}; the first is {first}"
        ));
    };
    let chosen = files.get(at..).unwrap_or_default();
    for (file, next) in chosen.iter().zip(chosen.iter().skip(1)) {
        if file.sequence.checked_add(1) != Some(next.sequence) {
            return Err(format!(
                "WAL files are missing between {} and {}",
                file.name, next.name
            ));
        }
    }
    Ok(chosen)
}

fn parse(name: &str) -> Option<(u64, u64)> {
    let (sequence, index) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    Some((hex(sequence)?, hex(index)?))
}

fn hex(digits: &str) -> Option<u64> {
    let sound = (1..=MAX_HEX_DIGITS).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    sound.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(numbers: &[(u64, u64)]) -> Vec<WalFile> {
        let file = |&(sequence, index): &(u64, u64)| WalFile {
            name: format!("{sequence:016x}-{index:016x}.wal"),
            path: PathBuf::new(),
            sequence,
            index,
        };
        numbers.iter().map(file).collect()
    }

    #[test]
    fn only_whole_names_count() {
        assert_eq!(
            parse("0000000000000001-00000000000004bf.wal"),
            Some((1, 0x4bf))
        );
        for name in [
            "1.wal",
            "-1.wal",
            "+1-1.wal",
            "0000000000000001-00000000000004bf.wal.broken",
            "00000000000000001-0.wal",
            "0.tmp",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }

    #[test]
    fn the_log_is_opened_at_the_last_file_that_begins_before_the_index() {
        let names = files(&[(3, 100), (4, 200), (5, 300)]);
        assert_eq!(files_from(&names, 250).unwrap(), &names[1..]);
        assert_eq!(files_from(&names, 200).unwrap(), &names[1..]);
        assert!(
            files_from(&names, 99).unwrap_err().contains("100")
                || files_from(&names, 99).unwrap_err().contains("64.wal")
        );
    }

    #[test]
    fn a_missing_file_is_named_by_its_neighbours() {
        let names = files(&[(3, 100), (5, 300)]);
        assert!(files_from(&names, 300).is_ok());
        assert!(files_from(&names, 150).unwrap_err().contains("between"));
    }
}
