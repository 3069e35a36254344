//! The append writer.

mod appender;
mod builder;
mod records;

pub use appender::Appender;
pub use builder::Builder;
pub use records::Records;
