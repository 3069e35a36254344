//! The stored freelist. A bad one is reported, and does not hinder reading.

use crate::FIRST_PAGE;
use crate::Result;
use crate::check::finding::{FindingKind as Kind, Findings};
use crate::check::marks::Marks;
use crate::check::walk::new_marks;
use crate::file::PageFile;
use crate::le::u64_at;
use crate::page::{FREELIST, PAGE_HEADER_BYTES, PageHeader};

/// This count means that the true one is the first entry.
const COUNT_ESCAPE: u16 = 0xFFFF;
const ID_BYTES: usize = 8;
const READ_IDS: u64 = 8192;

/// The free pages, one bit each. `None` when there is no list, or none that can be told.
pub(crate) fn load(
    pages: &PageFile,
    findings: &Findings,
    reachable: &Marks,
) -> Result<Option<Marks>> {
    if !pages.meta.has_freelist() {
        return Ok(None);
    }
    let id = pages.meta.freelist;
    let list = match locate(pages, id)? {
        Ok(list) => list,
        Err(what) => {
            findings.add(id, Kind::FreelistPage, || what);
            return Ok(None);
        }
    };
    (id..list.end_page).for_each(|page| _ = reachable.set(page));
    let freed = new_marks(pages)?;
    let mut buffer = vec![0; (READ_IDS as usize).saturating_mul(ID_BYTES)];
    let (mut at, mut left, mut last) = (list.first_byte, list.count, 0_u64);
    while left > 0 {
        let length = left.min(READ_IDS).saturating_mul(ID_BYTES as u64);
        let Some(bytes) = buffer.get_mut(..usize::try_from(length).unwrap_or(0)) else {
            break;
        };
        pages.read_within(id, at, bytes)?;
        for entry in bytes.chunks_exact(ID_BYTES) {
            let free = u64_at(entry, 0).unwrap_or(0);
            check_entry(pages, findings, reachable, &freed, free, last);
            last = free;
        }
        at = at.saturating_add(length);
        left = left.saturating_sub(READ_IDS);
    }
    Ok(Some(freed))
}

struct List {
    end_page: u64,
    first_byte: u64,
    count: u64,
}

fn locate(pages: &PageFile, id: u64) -> Result<Result<List, String>> {
    if id < FIRST_PAGE || id >= pages.pages {
        return Ok(Err(format!(
            "the freelist is said to be here, outside {FIRST_PAGE}..{}",
            pages.pages
        )));
    }
    let mut bytes = [0; PAGE_HEADER_BYTES + ID_BYTES];
    pages.read_slots(id, &mut bytes)?;
    let Some(header) = PageHeader::decode(&bytes) else {
        return Ok(Err("no header".to_owned()));
    };
    if header.id != id || header.flags != FREELIST {
        return Ok(Err(format!(
            "the freelist is said to be here; the header says page {}, flags {:#06x}",
            header.id, header.flags
        )));
    }
    let slots = u64::from(header.overflow).saturating_add(1);
    let end_page = id.saturating_add(slots);
    if end_page > pages.pages {
        return Ok(Err(format!(
            "the freelist reaches to page {end_page}, the end is at {}",
            pages.pages
        )));
    }
    let (first_byte, count) = if header.count == COUNT_ESCAPE {
        (
            PAGE_HEADER_BYTES.saturating_add(ID_BYTES) as u64,
            u64_at(&bytes, PAGE_HEADER_BYTES).unwrap_or(0),
        )
    } else {
        (PAGE_HEADER_BYTES as u64, u64::from(header.count))
    };
    let need = count
        .saturating_mul(ID_BYTES as u64)
        .saturating_add(first_byte);
    let have = slots.saturating_mul(pages.page_bytes() as u64);
    if need > have {
        return Ok(Err(format!(
            "the freelist states {count} ids, {need} bytes, and has {have}"
        )));
    }
    Ok(Ok(List {
        end_page,
        first_byte,
        count,
    }))
}

fn check_entry(
    pages: &PageFile,
    findings: &Findings,
    reachable: &Marks,
    freed: &Marks,
    free: u64,
    last: u64,
) {
    let high_water = pages.meta.high_water;
    if free < FIRST_PAGE || free >= high_water {
        findings.add(free, Kind::FreelistRange, || {
            format!("it is listed free, outside {FIRST_PAGE}..{high_water}")
        });
        return;
    }
    if free < last {
        findings.add(free, Kind::FreelistOrder, || {
            format!("it is listed free behind page {last}")
        });
    }
    // Beyond the end of a file that was cut off there are no bits.
    if free < pages.pages && freed.set(free) {
        findings.add(free, Kind::FreelistDuplicate, || {
            "it is listed free twice".to_owned()
        });
    }
    if reachable.get(free) {
        findings.add(free, Kind::ReachableFreed, || {
            "it belongs to the freelist, which lists it".to_owned()
        });
    }
}
