//! What a killed writer left: whole blocks with the right checksum, and of these whole revisions.

use crate::ebd::{Block, BlockDecoder, FLAG_OPEN, IndexEntry, Input, Section, read_header};
use crate::error::{Error, InFile, Result};
use crate::event::delimited_len;
use crate::file::{DeltaFile, Summary};
use crate::order::MainOrder;
use crate::write::ebd_file::{EbdFile, FilePoint};
use crate::write::{DeltaWriter, EventLog, Options, Totals};
use bbolt::Cancel;
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::path::Path;

/// What [`recover`] found.
pub enum Recovery {
    /// The writer had finished: the file is whole and may be published as it is.
    Finished(Box<Summary>),
    /// The file was cut to its complete revisions; they can be finished or continued.
    Cut {
        /// The writer, as if it had not been killed.
        writer: Box<DeltaWriter>,
        /// Bytes that were cut off.
        cut_bytes: u64,
    },
}

/// Takes over a delta whose writer is gone. The caller must know that it is: nothing is locked here.
pub fn recover(path: &Path, options: &Options, cancel: &Cancel) -> Result<Recovery> {
    if let Ok(file) = DeltaFile::open(path)
        && let Ok(summary) = file.verify(cancel)
    {
        return Ok(Recovery::Finished(Box::new(summary)));
    }
    recover_cut(path, options, cancel).in_file("recover delta", path)
}

fn recover_cut(path: &Path, options: &Options, cancel: &Cancel) -> Result<Recovery> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(Error::io("open"))?;
    let file_bytes = file.metadata().map_err(Error::io("stat"))?.len();
    let (input, header) = read_header(file.try_clone().map_err(Error::io("open"))?, file_bytes)?;
    let safe = Safe {
        point: FilePoint::new(input.offset(), input.digest(), 0),
        order: MainOrder::starting_at(header.start_revision),
        totals: Totals::default(),
    };
    let mut scan = Scan {
        input,
        index: Vec::new(),
        state: safe.clone(),
        safe,
        leases: HashSet::new(),
    };
    scan.run(cancel)?;
    let Safe {
        point,
        order,
        totals,
    } = scan.safe;
    let cut_bytes = file_bytes.saturating_sub(point.offset());
    let out = EbdFile::resume(file, path, point, scan.index, options)?;
    let log = EventLog::resume(out, order, totals, options);
    let writer = Box::new(DeltaWriter::resume(log, header, scan.leases));
    Ok(Recovery::Cut { writer, cut_bytes })
}

/// A state behind which everything can be cut off.
#[derive(Clone)]
struct Safe {
    point: FilePoint,
    order: MainOrder,
    totals: Totals,
}

struct Scan {
    input: Input,
    index: Vec<IndexEntry>,
    /// Everything read so far.
    state: Safe,
    /// Complete revisions only.
    safe: Safe,
    leases: HashSet<i64>,
}

impl Scan {
    /// Reads blocks until one is not whole, not right, or not there. Damage is where the file ends, not an error.
    fn run(&mut self, cancel: &Cancel) -> Result<()> {
        let mut decompress = BlockDecoder::new()?;
        let mut body = Vec::new();
        loop {
            cancel.check()?;
            match self.next_block(&mut decompress, &mut body) {
                Ok(true) => {}
                Err(error @ Error::Io { .. }) if error.code() != "TRUNCATED" => return Err(error),
                Ok(false) | Err(_) => return Ok(()),
            }
        }
    }

    fn next_block(&mut self, decompress: &mut BlockDecoder, body: &mut Vec<u8>) -> Result<bool> {
        let offset = self.input.offset();
        let Some(head) = self.input.next_head()? else {
            return Ok(false);
        };
        if head.section != Section::Block {
            return Ok(false);
        }
        self.input.read_vec(head.body_bytes, body, "block")?;
        head.check_body(body, offset)?;
        let block = decompress.block(body)?;
        let (order, totals) = self.walk(&block)?;
        if block.head.first_sub == 0 {
            self.safe = self.state.clone();
        }
        self.index.push(IndexEntry::of(offset, &block.head));
        let point = FilePoint::new(self.input.offset(), self.input.digest(), self.index.len());
        self.state = Safe {
            point,
            order,
            totals,
        };
        if head.flags & FLAG_OPEN == 0 {
            self.safe = self.state.clone();
        }
        Ok(true)
    }

    fn walk(&mut self, block: &Block<'_>) -> Result<(MainOrder, Totals)> {
        let mut order = self.state.order.clone();
        let mut totals = self.state.totals;
        let leases = &mut self.leases;
        block.walk(&mut order, |stored, change, sub| {
            let main = change.kv.mod_revision;
            totals.count(
                main,
                sub,
                delimited_len(stored.bytes.len()) as u64,
                stored.arrived_ms,
            );
            let lease = change.head().lease;
            if lease != 0 {
                leases.insert(lease);
            }
            Ok(())
        })?;
        Ok((order, totals))
    }
}
