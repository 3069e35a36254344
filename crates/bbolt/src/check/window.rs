//! Leaves gathered under many branches, checked by page id, neighbours with one read, by several threads.

use crate::Result;
use crate::check::leaf::Bounds;
use crate::check::walk::Walk;
use crate::check::walker::Walker;
use crate::file::comes_from_disk;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Leaves per window.
const WINDOW_LEAVES: usize = 65_536;
/// Bytes of key bounds per window.
const WINDOW_KEY_BYTES: usize = 2 << 20;
/// One read; small enough to be still in the core's cache when it is looked at.
const READ_BYTES: usize = 256 << 10;
/// Below this many leaves, starting threads costs more than it saves.
const PARALLEL_LEAVES: usize = 512;
/// How far a thread that waits for a disk asks ahead: 2 MiB.
const SHARES_AHEAD: usize = 8;

#[derive(Default)]
pub(crate) struct Window {
    leaves: Vec<Pending>,
    keys: Vec<u8>,
}

struct Pending {
    id: u64,
    min: Span,
    max: Span,
}

/// A key in `Window::keys`. No bytes: no bound (no key that counts is empty).
#[derive(Clone, Copy)]
struct Span {
    at: u32,
    bytes: u32,
}

impl Window {
    pub fn is_full(&self) -> bool {
        self.leaves.len() >= WINDOW_LEAVES || self.keys.len() >= WINDOW_KEY_BYTES
    }

    pub fn push(&mut self, id: u64, bounds: Bounds<'_>) {
        // The leaf before it usually ends where this one begins.
        let before = self.leaves.last().map(|leaf| leaf.max);
        let shared = before.filter(|span| {
            bounds
                .min
                .is_some_and(|min| bound(&self.keys, *span) == Some(min))
        });
        let min = shared.unwrap_or_else(|| self.keep(bounds.min));
        let max = self.keep(bounds.max);
        self.leaves.push(Pending { id, min, max });
    }

    /// Checks all leaves and empties the window.
    pub fn check(&mut self, walk: &Walk<'_>, top_level: bool) -> Result<()> {
        self.leaves.sort_unstable_by_key(|leaf| leaf.id);
        let next = AtomicUsize::new(0);
        let this: &Self = self;
        let helpers = if this.leaves.len() < PARALLEL_LEAVES {
            0
        } else {
            walk.threads.saturating_sub(1)
        };
        let outcome = std::thread::scope(|scope| {
            let started: Vec<_> = (0..helpers)
                .map(|_| scope.spawn(|| this.check_share(walk, &next, top_level)))
                .collect();
            let own = this.check_share(walk, &next, top_level);
            started.into_iter().fold(own, |outcome, thread| {
                let theirs = thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome.and(theirs)
            })
        });
        self.leaves.clear();
        self.keys.clear();
        outcome
    }

    /// Takes one read's worth of leaves after the other until none is left.
    fn check_share(&self, walk: &Walk<'_>, next: &AtomicUsize, top_level: bool) -> Result<()> {
        let page_bytes = walk.pages.page_bytes();
        let batch = READ_BYTES.checked_div(page_bytes).unwrap_or(0).max(1);
        let ahead = batch.saturating_mul(SHARES_AHEAD);
        let mut buffer = vec![0; batch.saturating_mul(page_bytes)];
        let mut walker = Walker::alone(walk, top_level);
        let mut from_disk = false;
        loop {
            let start = next.fetch_add(batch, Ordering::Relaxed);
            let share = self.share(start, batch);
            if share.is_empty() {
                return Ok(());
            }
            if from_disk {
                self.read_ahead(walk, start.saturating_add(ahead), batch);
            }
            let started = Instant::now();
            for run in share.chunk_by(is_next) {
                let length = run.len().saturating_mul(page_bytes);
                let (Some(first), Some(bytes)) = (run.first(), buffer.get_mut(..length)) else {
                    continue;
                };
                walk.pages.read_slots(first.id, bytes)?;
                for (leaf, slot) in run.iter().zip(bytes.chunks_exact(page_bytes)) {
                    let bounds = Bounds {
                        min: bound(&self.keys, leaf.min),
                        max: bound(&self.keys, leaf.max),
                    };
                    walker.check_leaf_slot(leaf.id, slot, bounds)?;
                }
            }
            if !from_disk && comes_from_disk(started.elapsed(), share.len()) {
                from_disk = true;
                self.read_ahead(walk, start.saturating_add(batch), ahead);
            }
            walk.advance(share.len() as u64)?;
        }
    }

    fn read_ahead(&self, walk: &Walk<'_>, start: usize, leaves: usize) {
        for run in self.share(start, leaves).chunk_by(is_next) {
            walk.pages
                .read_ahead(run.first().map_or(0, |first| first.id), run.len());
        }
    }

    fn share(&self, start: usize, leaves: usize) -> &[Pending] {
        let rest = self.leaves.get(start..).unwrap_or_default();
        rest.get(..leaves).unwrap_or(rest)
    }

    fn keep(&mut self, key: Option<&[u8]>) -> Span {
        let key = key.unwrap_or_default();
        let span = Span {
            at: self.keys.len() as u32,
            bytes: key.len() as u32,
        };
        self.keys.extend_from_slice(key);
        span
    }
}

fn is_next(leaf: &Pending, other: &Pending) -> bool {
    leaf.id.checked_add(1) == Some(other.id)
}

fn bound(keys: &[u8], span: Span) -> Option<&[u8]> {
    let key = keys.get(span.at as usize..)?.get(..span.bytes as usize)?;
    (!key.is_empty()).then_some(key)
}
