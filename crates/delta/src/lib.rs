//! Delta snapshots: the .ebd container and the Go tool's JSON, streaming both ways; replay as transactions.
