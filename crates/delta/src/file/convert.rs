//! One format into the other. The events stay the same; times are kept to the millisecond.

use crate::ebd::Header;
use crate::error::{Error, InFile, Result};
use crate::event::delimited_len;
use crate::file::{DeltaFile, Source, Summary};
use crate::json::{Compression, JsonWriter};
use crate::write::{EventLog, Options, Totals};
use bbolt::Cancel;
use std::path::Path;

/// Reads a delta of either format through, checks it, and writes it as a local `.ebd`, which must not exist.
///
/// Leases and origin are kept where the input has them. The output is a working copy: it is not synced. A failure leaves
/// no output behind.
pub fn transcode(
    input: &Path,
    output: &Path,
    options: &Options,
    cancel: &Cancel,
) -> Result<Summary> {
    transcode_inner(input, output, options, cancel).in_file("transcode delta", input)
}

/// Reads a delta of either format through, checks it, and writes it as the Go tool would, to a file that must not
/// exist.
///
/// A failure leaves no output behind.
pub fn export(
    input: &Path,
    output: &Path,
    compression: Compression,
    cancel: &Cancel,
) -> Result<Summary> {
    export_inner(input, output, compression, cancel).in_file("export delta", input)
}

fn transcode_inner(
    input: &Path,
    output: &Path,
    options: &Options,
    cancel: &Cancel,
) -> Result<Summary> {
    let file = DeltaFile::open(input)?;
    let leases = file.leases()?;
    let mut unfinished = Unfinished::new(output, false);
    let mut log = None;
    let mut scratch = Vec::new();
    Source::open(input, file.format())?.for_each(cancel, |event| {
        let main = event.change.kv.mod_revision;
        let raw = event.raw.unwrap_or_else(|| {
            scratch.clear();
            event.change.encode(&mut scratch);
            &scratch
        });
        let log = match &mut log {
            Some(log) => log,
            none => {
                let created =
                    EventLog::create(output, &header(&file, main, event.arrived_ms), options)?;
                unfinished.armed = true;
                none.insert(created)
            }
        };
        log.append(raw, main, event.arrived_ms)
    })?;
    let mut log = log.ok_or_else(|| Error::corrupt("the delta holds no events"))?;
    log.complete()?;
    let finished = log.finish(&leases, false)?;
    unfinished.armed = false;
    Ok(Summary::of_finished(&finished, leases.len() as u64))
}

/// Origin is known of an `.ebd` only.
fn header(file: &DeltaFile, first_revision: i64, first_time_ms: i64) -> Header {
    let unknown = || Header {
        start_revision: first_revision,
        created_ms: first_time_ms,
        ..Header::default()
    };
    file.header().cloned().unwrap_or_else(unknown)
}

fn export_inner(
    input: &Path,
    output: &Path,
    compression: Compression,
    cancel: &Cancel,
) -> Result<Summary> {
    let file = DeltaFile::open(input)?;
    let mut writer = JsonWriter::create(output, compression)?;
    let mut unfinished = Unfinished::new(output, true);
    let mut totals = Totals::default();
    Source::open(input, file.format())?.for_each(cancel, |event| {
        let bytes = delimited_len(event.change.encoded_len()) as u64;
        totals.count(
            event.change.kv.mod_revision,
            event.sub,
            bytes,
            event.arrived_ms,
        );
        writer.push(event.change, event.arrived_ms)
    })?;
    let mut summary = Summary::of_totals(&totals);
    (summary.sha256, summary.bytes) = writer.finish()?;
    unfinished.armed = false;
    Ok(summary)
}

/// Removes a file that was begun and not finished. Armed once the file is ours: another's is never touched.
struct Unfinished<'a> {
    path: &'a Path,
    armed: bool,
}

impl<'a> Unfinished<'a> {
    fn new(path: &'a Path, armed: bool) -> Self {
        Self { path, armed }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.armed {
            let _ = std::fs::remove_file(self.path);
        }
    }
}
