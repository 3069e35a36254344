//! The bbolt file format: read, check, append. No etcd words, no napi.
