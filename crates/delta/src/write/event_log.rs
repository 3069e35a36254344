//! Events into blocks into a file, with the one promise that recovery rests on: the first event of a revision that is
//! not complete stands at the front of a block, or in a block that is not sealed.

use crate::ebd::{FLAG_OPEN, Header, Lease};
use crate::error::{Error, Result};
use crate::event::delimited_len;
use crate::order::MainOrder;
use crate::write::ebd_file::{EbdFile, FilePoint, Finished};
use crate::write::open_block::{BlockPoint, OpenBlock};
use crate::write::{Options, Totals};
use std::path::Path;

/// An `.ebd` that is being filled with events.
pub(crate) struct EventLog {
    out: EbdFile,
    block: OpenBlock,
    block_bytes: usize,
    order: MainOrder,
    totals: Totals,
    partial: Option<Partial>,
}

/// The state before the first event of the revision that is not known to be complete.
struct Partial {
    main: i64,
    file: FilePoint,
    block: BlockPoint,
    order: MainOrder,
    totals: Totals,
}

impl EventLog {
    /// Creates the file; its first event must be of the header's start revision.
    pub(crate) fn create(path: &Path, header: &Header, options: &Options) -> Result<Self> {
        let out = EbdFile::create(path, header, options)?;
        Ok(Self::resume(
            out,
            MainOrder::starting_at(header.start_revision),
            Totals::default(),
            options,
        ))
    }

    /// Continues a file that holds complete revisions only.
    pub(crate) fn resume(
        out: EbdFile,
        order: MainOrder,
        totals: Totals,
        options: &Options,
    ) -> Self {
        let block_bytes = options.block_bytes;
        Self {
            out,
            block: OpenBlock::default(),
            block_bytes,
            order,
            totals,
            partial: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn out(&mut self) -> &mut EbdFile {
        &mut self.out
    }

    pub(crate) fn path(&self) -> &Path {
        self.out.path()
    }

    /// Bytes in the file and in the open block.
    pub(crate) fn len(&self) -> u64 {
        self.out.len().saturating_add(self.block.len() as u64)
    }

    /// Everything so far but a partial revision.
    pub(crate) fn complete_totals(&self) -> &Totals {
        self.partial
            .as_ref()
            .map_or(&self.totals, |partial| &partial.totals)
    }

    /// The revision that is not known to be complete.
    pub(crate) fn partial_main(&self) -> Option<i64> {
        self.partial.as_ref().map(|partial| partial.main)
    }

    /// The revision that comes after the complete ones: where a new watch must start.
    pub(crate) fn resume_revision(&self) -> Option<i64> {
        self.partial_main().or(self.order.next_main())
    }

    /// Adds one event. An event of a later revision completes the one before.
    pub(crate) fn append(&mut self, event: &[u8], main: i64, arrived_ms: i64) -> Result<()> {
        let before = self.order.clone();
        let sub = self.order.step(main)?;
        if sub == 0 {
            self.partial = None;
        }
        if self.block.overflows(event, self.block_bytes)
            && let Err(error) = self.make_room(event)
        {
            self.order = before;
            return Err(error);
        }
        if sub == 0 {
            let block = self.block.point(main, sub, arrived_ms);
            self.partial = Some(Partial {
                main,
                file: self.out.point(),
                block,
                order: before,
                totals: self.totals,
            });
        }
        self.block.push(event, main, sub, arrived_ms);
        self.totals
            .count(main, sub, delimited_len(event.len()) as u64, arrived_ms);
        Ok(())
    }

    /// The last revision is complete.
    pub(crate) fn complete(&mut self) -> Result<()> {
        self.partial = None;
        if self.block.len() >= self.block_bytes {
            self.seal()
        } else {
            Ok(())
        }
    }

    /// Forgets the revision that is not complete, also what is sealed of it.
    pub(crate) fn drop_partial(&mut self) -> Result<()> {
        if let Some(partial) = &self.partial {
            self.out.cut(&partial.file)?;
            self.block.cut(&partial.block);
            self.order = partial.order.clone();
            self.totals = partial.totals;
            self.partial = None;
        }
        Ok(())
    }

    /// Writes out every complete revision of the open block.
    pub(crate) fn seal(&mut self) -> Result<()> {
        match &self.partial {
            None => self.write_block(0),
            Some(partial) if partial.block.events > 0 => self.split(),
            Some(_) => Ok(()),
        }
    }

    /// Waits until what is sealed is on disk.
    pub(crate) fn sync(&self) -> Result<()> {
        self.out.sync()
    }

    /// Writes everything out, to the disk itself if `durable`. A partial revision is an error: whoever goes on reading the same stream would count its
    /// further events from 0 again.
    pub(crate) fn finish(&mut self, leases: &[Lease], durable: bool) -> Result<Finished> {
        if let Some(main) = self.partial_main() {
            return Err(Error::Usage(format!(
                "revision {main} is not complete; push the rest of its response, or drop it and watch again from it"
            )));
        }
        self.seal()?;
        self.out.finish(&self.totals, leases, durable)
    }

    /// Seals what is in the way of the next event.
    fn make_room(&mut self, event: &[u8]) -> Result<()> {
        if self
            .partial
            .as_ref()
            .is_some_and(|partial| partial.block.events > 0)
        {
            self.split()?;
            if !self.block.overflows(event, self.block_bytes) {
                return Ok(());
            }
        }
        self.write_block(if self.partial.is_some() { FLAG_OPEN } else { 0 })
    }

    /// Seals the complete revisions and keeps the partial one as the front of the next block.
    fn split(&mut self) -> Result<()> {
        let Some(point) = self.partial.as_ref().map(|partial| partial.block) else {
            return Ok(());
        };
        let tail = self.block.split_off(&point);
        let written = self.write_block(0);
        self.block.rejoin(tail);
        written?;
        if let Some(partial) = &mut self.partial {
            partial.file = self.out.point();
            partial.block = BlockPoint::default();
        }
        Ok(())
    }

    fn write_block(&mut self, flags: u32) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let (head, payload) = self.block.payload();
        let written = self.out.append_block(&head, payload, flags);
        if written.is_err() {
            self.block.unpayload(&head);
            return written;
        }
        self.block.clear(self.block_bytes);
        Ok(())
    }
}
