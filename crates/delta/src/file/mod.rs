//! A delta file of either format: what it is, whether it is sound, and its other form.

mod convert;
mod last_event;
mod moment;
mod source;
mod summary;

pub use convert::{export, transcode};
pub use last_event::{LastEvent, last_event};
pub use moment::{Moment, event_at, moment_of};
pub use summary::Summary;

use crate::ebd::{EbdReader, Header, Lease, MAGIC, Section, Tail, decode_leases, read_section};
use crate::error::{Error, InFile, Result};
use crate::event::delimited_len;
use crate::json::{Compression, sniff};
use crate::write::Totals;
use bbolt::Cancel;
use source::Source;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a delta file is, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Our container.
    Ebd,
    /// The Go tool's JSON.
    Json(Compression),
}

/// A delta file whose format is known and whose ends, if it is an `.ebd`, have been read.
#[derive(Debug, Clone)]
pub struct DeltaFile {
    path: PathBuf,
    format: Format,
    ends: Option<(Header, Tail)>,
}

/// Bytes that are enough to tell one format from another.
const FRONT_BYTES: u64 = 64;

impl DeltaFile {
    /// Tells the format by the first bytes, and reads header and trailer of an `.ebd`: cheap, whatever the size.
    pub fn open(path: &Path) -> Result<Self> {
        let format = sniff_file(path).in_file("open delta", path)?;
        let ends = match format {
            Format::Json(_) => None,
            Format::Ebd => {
                let reader = EbdReader::open(path)?;
                Some((reader.header().clone(), *reader.tail()))
            }
        };
        Ok(Self {
            path: path.to_owned(),
            format,
            ends,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The header of an `.ebd`.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.ends.as_ref().map(|(header, _)| header)
    }

    /// Trailer and digest of an `.ebd`, as stated: revisions, counts and times without reading the blocks.
    #[must_use]
    pub fn tail(&self) -> Option<&Tail> {
        self.ends.as_ref().map(|(_, tail)| tail)
    }

    /// The leases of an `.ebd`; none for the Go tool's JSON, which does not have them.
    pub fn leases(&self) -> Result<Vec<Lease>> {
        let Some((_, tail)) = &self.ends else {
            return Ok(Vec::new());
        };
        read_leases(&self.path, tail).in_file("read leases of", &self.path)
    }

    /// Reads everything and compares everything that can be: checksums, digest, index, order of revisions, counts,
    /// times. Runs on the caller's thread for as long as the file takes; polls `cancel` at every block.
    pub fn verify(&self, cancel: &Cancel) -> Result<Summary> {
        self.verify_inner(cancel)
            .in_file("verify delta", &self.path)
    }

    fn verify_inner(&self, cancel: &Cancel) -> Result<Summary> {
        let mut source = Source::open(&self.path, self.format)?;
        let mut totals = Totals::default();
        source.for_each(cancel, |event| {
            let bytes = event
                .raw
                .map_or_else(|| event.change.encoded_len(), <[u8]>::len);
            totals.count(
                event.change.kv.mod_revision,
                event.sub,
                delimited_len(bytes) as u64,
                event.arrived_ms,
            );
            Ok(())
        })?;
        if let Some((_, tail)) = &self.ends {
            compare_totals(&totals, tail)?;
        }
        let mut summary = Summary::of_totals(&totals);
        summary.leases = self.leases()?.len() as u64;
        (summary.sha256, summary.bytes) = source.digest_of_file(&self.path)?;
        summary.last_event = Some(source.last_event(&self.path)?);
        Ok(summary)
    }
}

/// What no single block can tell.
fn compare_totals(totals: &Totals, tail: &Tail) -> Result<()> {
    let stated = (
        tail.trailer.revision_events_max,
        tail.trailer.revision_bytes_max,
    );
    if (totals.revision_events_max, totals.revision_bytes_max) == stated {
        return Ok(());
    }
    Err(Error::corrupt(
        ".ebd trailer: the largest revision is not as large as it says",
    ))
}

fn sniff_file(path: &Path) -> Result<Format> {
    let file = File::open(path).map_err(Error::io("open"))?;
    let mut front = Vec::new();
    file.take(FRONT_BYTES)
        .read_to_end(&mut front)
        .map_err(Error::io("read"))?;
    if front.starts_with(&MAGIC) {
        return Ok(Format::Ebd);
    }
    sniff(&front).map(Format::Json)
}

pub(crate) fn read_leases(path: &Path, tail: &Tail) -> Result<Vec<Lease>> {
    let offset = tail.trailer.leases_offset;
    if offset == 0 {
        return Ok(Vec::new());
    }
    let file = File::open(path).map_err(Error::io("open"))?;
    let mut body = Vec::new();
    read_section(
        &file,
        offset,
        tail.trailer.index_offset,
        Section::Leases,
        &mut body,
    )?;
    decode_leases(&body)
}
