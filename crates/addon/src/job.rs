use crate::error::Outcome;
use napi::Env;
use napi::bindgen_prelude::{Object, ToNapiValue};
use std::thread;

/// Runs `work` on a thread of its own and returns a promise of its result. The libuv pool has four threads for the
/// whole process; a check of gigabytes would starve file and DNS calls there.
pub fn spawn<'env, T, F>(env: &'env Env, name: &str, work: F) -> napi::Result<Object<'env>>
where
    T: ToNapiValue + Send + 'static,
    F: FnOnce() -> Outcome<T> + Send + 'static,
{
    let (deferred, promise) = env.create_deferred()?;
    let run = move || {
        let outcome = work();
        deferred.resolve(move |env| outcome.map_err(|failure| failure.into_rejection(&env)));
    };
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(napi::Error::from)?;
    Ok(promise)
}
