//! Every record of a tree in the order of the file, which is read once, front to back: for containers in which going
//! back is dear, such as compressed ones.
//!
//! A page that says it is a leaf is read where it lies, though it may be free (free pages keep their bytes) or of
//! another tree; a page that says it is a branch leaves its children behind, four bytes each. At the end the tree is
//! walked through these children, in memory: the pages that the walk meets are the live ones ([`Live`]), and whoever
//! took a record drops it when its page is not among them. A live page that did not come past whole and sound is read
//! by its id, with the errors of a scan. So nothing that the tree holds is passed over, whatever the bytes.
//!
//! Not checked: that keys ascend from one leaf to the next.

mod pages;

use crate::bucket::{CYCLE, OUTSIDE, nested};
use crate::error::key_text;
use crate::file::PageFile;
use crate::page::{BRANCH, Branch, IS_BUCKET, LEAF, Leaf, PageHeader};
use crate::{Cancel, Error, MAX_DEPTH, Result};
pub use pages::Chunks;
use pages::Passing;
use std::collections::HashMap;

/// Bytes of element tables and of pages across chunks that are looked at, as a multiple of the file: overlapping pages,
/// which only damage or an old free page can make, could ask for any amount. Live pages beyond it are read by id.
const MAX_LOOKS: u64 = 4;

/// A record that came past. It counts if its page is [`Live`].
#[derive(Clone, Copy, Debug)]
pub struct Swept<'a> {
    /// Page of the leaf.
    pub page: u64,
    /// Key in the bucket.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

/// The pages of one tree: one bit for each page of the file.
#[derive(Debug, Default)]
pub struct Live(Vec<u64>);

impl Live {
    fn new(pages: u64) -> Self {
        let words = usize::try_from(pages.div_ceil(64)).unwrap_or(usize::MAX);
        Self(vec![0; words])
    }

    /// These pages.
    #[must_use]
    pub fn of(ids: impl IntoIterator<Item = u64>) -> Self {
        let ids: Vec<u64> = ids.into_iter().collect();
        let mut live = Self::new(ids.iter().max().map_or(0, |last| last.saturating_add(1)));
        for id in ids {
            live.insert(id);
        }
        live
    }

    /// Whether the tree holds the page.
    #[must_use]
    pub fn contains(&self, page: u64) -> bool {
        let word = usize::try_from(page / 64)
            .ok()
            .and_then(|at| self.0.get(at));
        word.is_some_and(|word| word & bit(page) != 0)
    }

    /// False when it was there already.
    fn insert(&mut self, page: u64) -> bool {
        let word = usize::try_from(page / 64)
            .ok()
            .and_then(|at| self.0.get_mut(at));
        let Some(word) = word else { return false };
        let is_new = *word & bit(page) == 0;
        *word |= bit(page);
        is_new
    }
}

fn bit(page: u64) -> u64 {
    1_u64.wrapping_shl((page % 64) as u32)
}

/// Hands every record that may be of the tree at `root` to `each`. Memory: two chunks, a bit or two per page of the file,
/// four bytes per leaf.
pub(crate) fn sweep<E: From<Error>>(
    pages: &PageFile,
    root: u64,
    chunks: &mut dyn Chunks,
    cancel: &Cancel,
    mut each: impl FnMut(Swept<'_>) -> Result<(), E>,
) -> Result<Live, E> {
    let mut passing = Passing::new(pages, chunks);
    let mut seen = Seen::new(pages);
    for id in crate::FIRST_PAGE..pages.pages {
        if passing.is_at_new_chunk(id) {
            cancel.check().map_err(Error::from)?;
        }
        if let Some((header, bytes)) = passing.page(id, &mut seen.budget)? {
            seen.take(id, &header, bytes, &mut each)?;
        }
    }
    drop(passing);
    walk(pages, root, &seen, cancel, &mut each)
}

struct Seen {
    /// Leaves all of whose records were handed out.
    sound: Live,
    /// Place and number of a branch's children in `children`.
    branches: HashMap<u32, (usize, u16)>,
    children: Vec<u32>,
    children_max: usize,
    budget: u64,
}

impl Seen {
    fn new(pages: &PageFile) -> Self {
        let bytes = pages.pages.saturating_mul(u64::from(pages.meta.page_size));
        Self {
            sound: Live::new(pages.pages),
            branches: HashMap::new(),
            children: Vec::new(),
            // Free branches may repeat what live ones say.
            children_max: usize::try_from(pages.pages.saturating_mul(2)).unwrap_or(usize::MAX),
            budget: bytes.saturating_mul(MAX_LOOKS),
        }
    }

    fn take<E>(
        &mut self,
        id: u64,
        header: &PageHeader,
        bytes: &[u8],
        each: &mut impl FnMut(Swept<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let count = usize::from(header.count);
        if header.flags == BRANCH {
            self.keep_children(id, count, bytes);
            return Ok(());
        }
        if each_entry(id, bytes, count, each)?.is_ok() {
            self.sound.insert(id);
        }
        Ok(())
    }

    /// A branch that is not kept is read again when the walk comes to it.
    fn keep_children(&mut self, id: u64, count: usize, bytes: &[u8]) {
        let start = self.children.len();
        let Ok(id) = u32::try_from(id) else { return };
        if start.saturating_add(count) > self.children_max {
            return;
        }
        for index in 0..count {
            let child = Branch(bytes).child(index).map(u32::try_from);
            let Some(Ok(child)) = child else {
                self.children.truncate(start);
                return;
            };
            self.children.push(child);
        }
        self.branches
            .insert(id, (start, u16::try_from(count).unwrap_or(u16::MAX)));
    }

    fn children_of(&self, id: u64) -> Option<&[u32]> {
        let (start, count) = self.branches.get(&u32::try_from(id).ok()?)?;
        self.children
            .get(*start..start.saturating_add(usize::from(*count)))
    }
}

/// What is wrong with a leaf, if anything.
enum Fault {
    Outside,
    Nested(Vec<u8>),
    NotSorted(String),
}

fn each_entry<E>(
    page: u64,
    bytes: &[u8],
    count: usize,
    each: &mut impl FnMut(Swept<'_>) -> Result<(), E>,
) -> Result<Result<(), Fault>, E> {
    let leaf = Leaf(bytes);
    let mut before: Option<&[u8]> = None;
    for index in 0..count {
        let Some(entry) = leaf.entry(index) else {
            return Ok(Err(Fault::Outside));
        };
        if entry.flags & IS_BUCKET != 0 {
            return Ok(Err(Fault::Nested(entry.key.to_vec())));
        }
        if let Some(before) = before.filter(|before| *before >= entry.key) {
            let (next, before) = (key_text(entry.key), key_text(before));
            return Ok(Err(Fault::NotSorted(format!("{next} follows {before}"))));
        }
        before = Some(entry.key);
        each(Swept {
            page,
            key: entry.key,
            value: entry.value,
        })?;
    }
    Ok(Ok(()))
}

fn walk<E: From<Error>>(
    pages: &PageFile,
    root: u64,
    seen: &Seen,
    cancel: &Cancel,
    each: &mut impl FnMut(Swept<'_>) -> Result<(), E>,
) -> Result<Live, E> {
    let mut live = Live::new(pages.pages);
    let mut ahead = vec![(root, 0_usize)];
    let mut bytes = Vec::new();
    while let Some((id, depth)) = ahead.pop() {
        pages.check_id(id)?;
        if !live.insert(id) {
            return Err(pages.corrupt(id, CYCLE).into());
        }
        if depth > MAX_DEPTH {
            return Err(pages.corrupt(id, "the tree is too deep").into());
        }
        let below = depth.saturating_add(1);
        if let Some(children) = seen.children_of(id) {
            ahead.extend(children.iter().map(|child| (u64::from(*child), below)));
            continue;
        }
        if seen.sound.contains(id) {
            continue;
        }
        cancel.check().map_err(Error::from)?;
        let header = pages.read_page(id, &mut bytes)?;
        let count = usize::from(header.count);
        if header.flags == LEAF {
            each_entry(id, &bytes, count, each)?.map_err(|fault| describe(pages, id, fault))?;
            continue;
        }
        for index in 0..count {
            let child = Branch(&bytes)
                .child(index)
                .ok_or_else(|| pages.corrupt(id, OUTSIDE))?;
            ahead.push((child, below));
        }
    }
    Ok(live)
}

fn describe(pages: &PageFile, id: u64, fault: Fault) -> Error {
    match fault {
        Fault::Outside => pages.corrupt(id, OUTSIDE),
        Fault::Nested(key) => nested(pages, &key),
        Fault::NotSorted(what) => Error::NotSorted {
            path: pages.path.clone(),
            what: format!("page {id}: {what}"),
        },
    }
}
