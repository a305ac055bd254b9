// Package diskspace watches the file system that a database lies on, and keeps a
// reserve there. It owns the measurement, the threshold of the warning, and the
// file of the reserve. Whether a write succeeds is the database's knowledge.
//
// # Why a reserve
//
// SQLite needs room to open a database after a crash: for the index of its
// write-ahead log and for what the log has not moved yet. A host must also journal
// how its turns ended. On a full disk neither would be possible, so a process that
// ended could not even serve reads. The reserve is a file of a few MiB which a start
// releases when the disk is full, and takes back afterwards as far as there is room.
package diskspace
