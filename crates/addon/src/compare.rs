//! Base and deltas beside a later full.

use crate::control::JobControl;
use crate::convert::{bigint, to_number};
use crate::job;
use napi::Env;
use napi::bindgen_prelude::{BigInt, Object};
use napi_derive::napi;
use std::path::Path;
use std::sync::atomic::Ordering;

/// What was compared; see `engine::Comparison`.
#[napi(object, use_nullable = true)]
pub struct LaterComparison {
    /// Of the later full.
    pub revision: BigInt,
    /// The higher of both compactions; -1 when there was none.
    pub compact_revision: BigInt,
    /// Records that are equal.
    pub records: f64,
    /// Main revision of the first record that differs.
    pub differs_at: Option<BigInt>,
    /// A sentence about it.
    pub difference: Option<String>,
}

/// Compares a base and the .ebd files behind it with the database of a later full, record by record. REVISION_GAP when
/// they do not reach its revision. Progress in records, over all passes. Own thread.
#[napi(ts_return_type = "Promise<LaterComparison>")]
pub fn compare_with_later<'env>(
    env: &'env Env,
    base: String,
    deltas: Vec<String>,
    later: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "compare", move || {
        let progress = |records| done.store(records, Ordering::Relaxed);
        let (base, later) = (Path::new(&base), Path::new(&later));
        let compared = engine::compare_with_later(base, &deltas, later, &cancel, &progress)?;
        let (differs_at, difference) = compared
            .difference
            .map(|found| (bigint(found.revision), found.what))
            .unzip();
        Ok(LaterComparison {
            revision: bigint(compared.revision),
            compact_revision: bigint(compared.compact_revision),
            records: to_number(compared.records),
            differs_at,
            difference,
        })
    })
}
