//! What etcd keeps in a bbolt file and beside it: schema, mvcc records, HashKV, member directories.
