use napi_derive::napi;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// JavaScript's hold on one piece of native work: it can stop the work, which polls at a bound and ends with
/// CANCELLED, and it can read how far the work is.
#[napi]
pub struct JobControl {
    cancel: bbolt::Cancel,
    done: Arc<AtomicU64>,
}

#[napi]
impl JobControl {
    #[napi(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            cancel: bbolt::Cancel::new(),
            done: Arc::default(),
        }
    }

    /// Any thread, does not block.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Work done so far, in the unit that the verb names. Any thread, does not block.
    #[napi]
    pub fn done(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // bytes and pages stay below 2^53
        let done = self.done.load(Ordering::Relaxed) as f64;
        done
    }
}

impl JobControl {
    pub fn cancel_token(&self) -> bbolt::Cancel {
        self.cancel.clone()
    }

    pub fn done_counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.done)
    }
}
