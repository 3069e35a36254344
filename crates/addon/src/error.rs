use napi::bindgen_prelude::{JsObjectValue, ToNapiValue};
use napi::{Env, Status};
use napi_derive::napi;

/// An error on its way to JavaScript: a code of `src/errors.ts` and a text for people.
#[derive(Debug)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
    /// The delta that is at fault, where a verb reads more than one file.
    pub file: Option<String>,
}

/// Every code that can cross, a part of the list in `src/errors.ts`; a test there walks this one.
pub const CODES: [&str; 18] = [
    "CORRUPT",
    "TRUNCATED",
    "CHECKSUM",
    "NOT_SORTED",
    "REVISION_GAP",
    "MISMATCH",
    "UNSUPPORTED",
    "NOT_FOUND",
    "EXISTS",
    "LOCKED",
    "NO_SPACE",
    "PERMISSION",
    "READ_ONLY",
    "COMPACTED",
    "CANCELLED",
    "IO",
    "USAGE",
    "INTERNAL",
];

/// For the test that compares both sides.
#[napi]
pub fn error_codes() -> Vec<&'static str> {
    CODES.to_vec()
}

/// Result of the pure part of a verb.
pub type Outcome<T> = Result<T, Failure>;

/// Error type of synchronous exports; napi copies `code` from the status.
pub type SyncError = napi::Error<Code>;

/// A code as napi wants it.
pub struct Code(&'static str);

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl From<Failure> for SyncError {
    fn from(failure: Failure) -> Self {
        Self::new(Code(failure.code), failure.message)
    }
}

impl Failure {
    /// A code that is not on the list would be an error nobody handles: it crosses as INTERNAL.
    pub fn new(code: &'static str, message: String) -> Self {
        let code = if CODES.contains(&code) {
            code
        } else {
            "INTERNAL"
        };
        Self {
            code,
            message,
            file: None,
        }
    }

    /// A call that the TypeScript side should not have made.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new("INTERNAL", message.into())
    }

    /// A failed system call.
    pub fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(pack::io_code(error), format!("{what}: {error}"))
    }

    /// The JavaScript error, with its `code` and `file`, kept inside a napi error for a promise to reject with.
    pub fn into_rejection(self, env: &Env) -> napi::Error {
        let Self {
            code,
            message,
            file,
        } = self;
        let made = env
            .create_error(napi::Error::new(Status::GenericFailure, message))
            .and_then(|mut error| {
                error.set_named_property("code", code)?;
                if let Some(file) = file {
                    error.set_named_property("file", file)?;
                }
                error.into_unknown(env)
            });
        made.map_or_else(|error| error, napi::Error::from)
    }
}

macro_rules! from_crate {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error.code(), error.to_string())
            }
        }
    )*};
}
from_crate!(bbolt::Error, delta::Error, etcd_data::Error, pack::Error);

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Self {
        let file = error.delta_file().map(str::to_owned);
        Self {
            file,
            ..Self::new(error.code(), error.to_string())
        }
    }
}
