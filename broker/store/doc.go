// Package store keeps everything the broker's use cases need, in PostgreSQL or
// SQLite, behind the interfaces of package broker. It owns the SQL, the columns
// of each table (internal/table) and the sealing of secret columns; it decides
// nothing.
//
// Every method joins the transaction in its context. What a use case does to a
// task is written by Apply: on PostgreSQL in one statement, because the round
// trip to the server costs more than the work there. Concurrent calls of Append
// share a statement and its commit; Append alone joins no transaction.
//
// Secrets are sealed with associated data table|column|row id and opened only
// by the methods that say so.
package store
