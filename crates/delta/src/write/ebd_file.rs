//! The file under a writer: sections are appended by position, so a failed write leaves the file as it was for the
//! next try, and what is behind a section boundary can be cut off.

use crate::ebd::{
    BlockHead, Codec, Header, IndexEntry, LEASE_BYTES, Lease, Section, SectionHead, Trailer,
};
use crate::error::{Error, Result};
use crate::write::{Options, Totals};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Most blocks of one file: bounds the index in memory to 40 MiB, at a TiB of events.
pub(crate) const BLOCKS_MAX: usize = 1 << 20;

pub(crate) struct EbdFile {
    file: File,
    path: PathBuf,
    offset: u64,
    digest: Sha256,
    index: Vec<IndexEntry>,
    codec: Codec,
    zstd: zstd::bulk::Compressor<'static>,
    compressed: Vec<u8>,
}

/// A section boundary that the file can be cut back to.
#[derive(Clone)]
pub(crate) struct FilePoint {
    offset: u64,
    digest: Sha256,
    blocks: usize,
}

/// A finished file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    pub(crate) trailer: Trailer,
    /// Over the whole file, its own digest included.
    pub(crate) sha256: [u8; 32],
    pub(crate) bytes: u64,
}

impl EbdFile {
    /// Creates a file that must not exist yet and writes its header.
    pub(crate) fn create(path: &Path, header: &Header, options: &Options) -> Result<Self> {
        let bytes = header.encode()?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(Error::io("create"))?;
        let start = FilePoint {
            offset: 0,
            digest: Sha256::new(),
            blocks: 0,
        };
        let mut out = Self::resume(file, path, start, Vec::new(), options)?;
        match out.append(&[&bytes]) {
            Ok(()) => Ok(out),
            Err(error) => {
                let _ = std::fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// Continues a file behind a section boundary; what lies behind it is cut off.
    pub(crate) fn resume(
        file: File,
        path: &Path,
        point: FilePoint,
        index: Vec<IndexEntry>,
        options: &Options,
    ) -> Result<Self> {
        let zstd =
            zstd::bulk::Compressor::new(options.zstd_level).map_err(Error::io("compress"))?;
        let mut out = Self {
            file,
            path: path.to_owned(),
            offset: point.offset,
            digest: Sha256::new(),
            index,
            codec: options.codec,
            zstd,
            compressed: Vec::new(),
        };
        out.cut(&point)?;
        Ok(out)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes go to another file from now on: a disk that is full, or one that has space again.
    #[cfg(test)]
    pub(crate) fn swap_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> u64 {
        self.offset
    }

    pub(crate) fn point(&self) -> FilePoint {
        FilePoint {
            offset: self.offset,
            digest: self.digest.clone(),
            blocks: self.index.len(),
        }
    }

    /// Cuts the file back to a boundary. The disk is cut too: a stale block must not be taken for a good one later.
    pub(crate) fn cut(&mut self, point: &FilePoint) -> Result<()> {
        let length = self.file.metadata().map_err(Error::io("stat"))?.len();
        if length > point.offset {
            self.file
                .set_len(point.offset)
                .map_err(Error::io("truncate"))?;
        }
        self.offset = point.offset;
        self.digest = point.digest.clone();
        self.index.truncate(point.blocks);
        Ok(())
    }

    /// Compresses and appends one block.
    pub(crate) fn append_block(
        &mut self,
        head: &BlockHead,
        payload: &[u8],
        flags: u32,
    ) -> Result<()> {
        if self.index.len() >= BLOCKS_MAX {
            return Err(Error::Usage(format!(
                "the delta has {BLOCKS_MAX} blocks; finish it and begin the next"
            )));
        }
        let mut compressed = std::mem::take(&mut self.compressed);
        let result = self.append_compressed(head, payload, flags, &mut compressed);
        self.compressed = compressed;
        result
    }

    fn append_compressed(
        &mut self,
        head: &BlockHead,
        payload: &[u8],
        flags: u32,
        spare: &mut Vec<u8>,
    ) -> Result<()> {
        let mut head = *head;
        let mut stored = payload;
        spare.clear();
        if self.codec == Codec::Zstd {
            spare.reserve(zstd::zstd_safe::compress_bound(payload.len()));
            self.zstd
                .compress_to_buffer(payload, spare)
                .map_err(Error::io("compress"))?;
            if spare.len() < payload.len() {
                head.codec = Codec::Zstd;
                stored = spare;
            }
        }
        let entry = IndexEntry::of(self.offset, &head);
        self.append_section(Section::Block, flags, &[&head.encode(), stored])?;
        self.index.push(entry);
        Ok(())
    }

    /// Writes leases, index and trailer. May be tried again when it failed.
    pub(crate) fn finish(
        &mut self,
        totals: &Totals,
        leases: &[Lease],
        durable: bool,
    ) -> Result<Finished> {
        let before = self.point();
        self.write_end(totals, leases, durable).inspect_err(|_| {
            self.offset = before.offset;
            self.digest = before.digest;
        })
    }

    fn write_end(&mut self, totals: &Totals, leases: &[Lease], durable: bool) -> Result<Finished> {
        let (Some(first), Some(last), Some(last_block)) =
            (totals.first, totals.last, self.index.last())
        else {
            return Err(Error::Usage(
                "the delta holds no complete revision; there is nothing to finish".into(),
            ));
        };
        let last_block_offset = last_block.offset;
        let leases_offset = self.append_leases(leases)?;
        let index_offset = self.offset;
        let body: Vec<u8> = self.index.iter().flat_map(IndexEntry::encode).collect();
        self.append_section(Section::Index, 0, &[&body])?;
        let trailer = Trailer {
            index_offset,
            leases_offset,
            last_block_offset,
            blocks: self.index.len() as u64,
            events: totals.events,
            event_bytes: totals.event_bytes,
            first_revision: first.0,
            last_revision: last.0,
            first_time_ms: first.1,
            last_time_ms: last.1,
            revision_events_max: totals.revision_events_max,
            revision_bytes_max: totals.revision_bytes_max,
        };
        self.append(&[&trailer.encode()])?;
        let digest: [u8; 32] = self.digest.clone().finalize().into();
        self.append(&[&digest])?;
        if durable {
            self.sync()?;
        }
        Ok(Finished {
            trailer,
            sha256: self.digest.clone().finalize().into(),
            bytes: self.offset,
        })
    }

    /// Waits until what was written, and the file's name, is on disk.
    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(Error::io("sync"))?;
        sync_parent(&self.path)
    }

    fn append_leases(&mut self, leases: &[Lease]) -> Result<u64> {
        if leases.is_empty() {
            return Ok(0);
        }
        let mut sorted = leases.to_vec();
        sorted.sort_unstable();
        sorted.dedup_by_key(|lease| lease.id);
        let mut body = Vec::with_capacity(sorted.len().saturating_mul(LEASE_BYTES));
        for lease in &sorted {
            body.extend_from_slice(&lease.id.to_le_bytes());
            body.extend_from_slice(&lease.granted_ttl.to_le_bytes());
        }
        let offset = self.offset;
        self.append_section(Section::Leases, 0, &[&body])?;
        Ok(offset)
    }

    fn append_section(&mut self, section: Section, flags: u32, body: &[&[u8]]) -> Result<()> {
        let head = SectionHead::encode(section, flags, body)?;
        let mut parts: Vec<&[u8]> = vec![&head];
        parts.extend_from_slice(body);
        self.append(&parts)
    }

    /// Offset and digest move only when everything is written, so a failed append may be tried again.
    fn append(&mut self, parts: &[&[u8]]) -> Result<()> {
        let mut offset = self.offset;
        for part in parts {
            self.file
                .write_all_at(part, offset)
                .map_err(Error::io("write"))?;
            offset += part.len() as u64;
        }
        for part in parts {
            self.digest.update(part);
        }
        self.offset = offset;
        Ok(())
    }
}

impl FilePoint {
    pub(crate) fn new(offset: u64, digest: Sha256, blocks: usize) -> Self {
        Self {
            offset,
            digest,
            blocks,
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

/// A new name is durable only when its directory is.
pub(crate) fn sync_parent(path: &Path) -> Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(Error::io("sync"))
}
