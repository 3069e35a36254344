//! Takes an existing tree up where it ends: its right spine becomes the open nodes of a [`TreeWriter`].
//!
//! The last leaf is taken over record by record, so that it is filled before a new one begins; one with overflow pages
//! stays as it is. Everything left of the spine keeps its page. A spine that bbolt would not have made (a branch with
//! one child, an empty leaf) is refused: such a bucket is to be replaced as a whole.

use crate::error::key_text;
use crate::file::PageFile;
use crate::page::{BRANCH, Branch, IS_BUCKET, Leaf, PageHeader};
use crate::write::node::{Child, Level, MIN_CHILDREN};
use crate::write::tree::TreeWriter;
use crate::{Error, MAX_DEPTH, MAX_KEY_BYTES, Result};

const OUTSIDE: &str = "an element lies outside the page";

/// From a tree with its own pages.
pub(crate) fn resume_tree(pages: &PageFile, root: u64) -> Result<TreeWriter> {
    let mut tree = TreeWriter::default();
    let (mut id, mut bytes) = (root, Vec::new());
    for _ in 0..MAX_DEPTH {
        let header = pages.read_header(id)?;
        if header.flags != BRANCH {
            take_leaf(pages, id, &header, &mut tree)?;
            return Ok(tree);
        }
        pages.read_page(id, &mut bytes)?;
        let mut level = Level::default();
        id = take_branch(pages, id, &header, &bytes, &mut level)?;
        // The root was seen first: the lowest branches belong at the front.
        tree.levels.insert(0, level);
    }
    Err(pages.corrupt(root, "the tree is too deep"))
}

/// From an inline page.
pub(crate) fn resume_inline(pages: &PageFile, page: &[u8]) -> Result<TreeWriter> {
    let mut tree = TreeWriter::default();
    let header = PageHeader::decode(page)
        .ok_or_else(|| pages.corrupt(0, "an inline bucket without a page header"))?;
    take_records(pages, 0, page, usize::from(header.count), &mut tree)?;
    Ok(tree)
}

/// All children but the last, whose id is returned: it will be written anew.
fn take_branch(
    pages: &PageFile,
    id: u64,
    header: &PageHeader,
    bytes: &[u8],
    level: &mut Level,
) -> Result<u64> {
    let count = usize::from(header.count);
    if count < MIN_CHILDREN {
        let what = format!(
            "a branch with {count} children on the right edge of the tree; the bucket must be rewritten"
        );
        return Err(pages.corrupt(id, what));
    }
    let mut last: Option<u64> = None;
    let mut last_key: &[u8] = &[];
    for index in 0..count {
        let entry = Branch(bytes)
            .entry(index)
            .ok_or_else(|| pages.corrupt(id, OUTSIDE))?;
        check_key(pages, id, entry.key, last.map(|_| last_key))?;
        pages.check_id(entry.child)?;
        if let Some(child) = last {
            level.current.push(Child {
                key: last_key.to_vec(),
                id: child,
            });
        }
        last = Some(entry.child);
        last_key = entry.key;
    }
    last.ok_or_else(|| pages.corrupt(id, OUTSIDE))
}

fn take_leaf(pages: &PageFile, id: u64, header: &PageHeader, tree: &mut TreeWriter) -> Result<()> {
    let count = usize::from(header.count);
    if count == 0 {
        if tree.levels.is_empty() {
            return Ok(());
        }
        return Err(pages.corrupt(
            id,
            "an empty leaf on the right edge of the tree; the bucket must be rewritten",
        ));
    }
    let mut bytes = Vec::new();
    if header.overflow == 0 {
        pages.read_page(id, &mut bytes)?;
        return take_records(pages, id, &bytes, count, tree);
    }
    let first = pages.read_leaf_key(id, header, 0)?;
    tree.last_key = Some(pages.read_leaf_key(id, header, count.saturating_sub(1))?);
    if tree.levels.is_empty() {
        tree.levels.push(Level::default());
    }
    if let Some(level) = tree.levels.first_mut() {
        level.current.push(Child { key: first, id });
    }
    Ok(())
}

fn take_records(
    pages: &PageFile,
    id: u64,
    bytes: &[u8],
    count: usize,
    tree: &mut TreeWriter,
) -> Result<()> {
    let mut last: Option<&[u8]> = None;
    for index in 0..count {
        let entry = Leaf(bytes)
            .entry(index)
            .ok_or_else(|| pages.corrupt(id, OUTSIDE))?;
        if entry.flags & IS_BUCKET != 0 {
            return Err(crate::bucket::nested(pages, entry.key));
        }
        check_key(pages, id, entry.key, last)?;
        tree.leaf.push(entry.flags, entry.key, entry.value);
        last = Some(entry.key);
    }
    tree.last_key = last.map(<[u8]>::to_vec);
    Ok(())
}

fn check_key(pages: &PageFile, id: u64, key: &[u8], before: Option<&[u8]>) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(pages.corrupt(id, format!("a key of {} bytes", key.len())));
    }
    if let Some(before) = before.filter(|before| *before >= key) {
        let what = format!("page {id}: {} follows {}", key_text(key), key_text(before));
        return Err(Error::NotSorted {
            path: pages.path.clone(),
            what,
        });
    }
    Ok(())
}
