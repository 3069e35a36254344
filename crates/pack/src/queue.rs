//! Bytes handed from a thread that must not block to one that works on them, within a bound.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Pieces may wait up to this many bytes before the caller is asked to pause.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;
const RESUME_BELOW_BYTES: usize = 1024 * 1024;

/// What the caller of a sink's `push` should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    More,
    /// Push nothing until its `drain_handle` has returned.
    Pause,
    /// The intake has failed: its `finish` says why.
    Stop,
}

/// Pieces that wait for their thread.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    closed: bool,
    aborted: bool,
    /// The intake thread is gone: nothing will be taken out any more.
    ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never blocks.
    pub fn push(&self, message: Vec<u8>) -> Flow {
        let mut state = self.lock();
        if state.ended || state.closed {
            return Flow::Stop;
        }
        state.bytes = state.bytes.saturating_add(message.len());
        state.messages.push_back(message);
        self.changed.notify_all();
        if state.bytes < MAX_QUEUED_BYTES {
            Flow::More
        } else {
            Flow::Pause
        }
    }

    /// Waits for the next piece; `None` behind the last one.
    pub fn pop(&self) -> Option<Vec<u8>> {
        let waiting = self
            .changed
            .wait_while(self.lock(), |s| s.messages.is_empty() && !s.closed);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        let message = state.messages.pop_front()?;
        state.bytes = state.bytes.saturating_sub(message.len());
        if state.bytes < RESUME_BELOW_BYTES {
            self.changed.notify_all();
        }
        Some(message)
    }

    /// For waiting on another thread until there is room again.
    pub fn drain_handle(self: &Arc<Self>) -> impl FnOnce() + Send + 'static {
        let queue = Arc::clone(self);
        move || queue.wait_below(RESUME_BELOW_BYTES)
    }

    /// Nothing will be taken out any more.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    pub fn is_aborted(&self) -> bool {
        self.lock().aborted
    }

    fn wait_below(&self, bytes: usize) {
        drop(
            self.changed
                .wait_while(self.lock(), |s| s.bytes >= bytes && !s.ended && !s.closed),
        );
    }

    /// `aborted`: what waits is dropped.
    pub fn close(&self, aborted: bool) {
        let mut state = self.lock();
        state.closed = true;
        if aborted {
            state.aborted = true;
            state.messages.clear();
        }
        self.changed.notify_all();
    }
}
