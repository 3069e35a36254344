//! A flag that tells a long loop to stop. Loops poll it at a named bound, never per record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between the one who asks to stop and the loops that obey. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// The work was stopped by [`Cancel::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancel {
    /// A flag that is not set yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For callers that never stop the work.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    /// Asks every holder of a clone to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Err` once [`Cancel::cancel`] was called.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_flag() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        assert_eq!(other.check(), Ok(()));
        cancel.cancel();
        assert_eq!(other.check(), Err(Cancelled));
    }
}
