// Package store keeps the data of the broker's use cases in PostgreSQL or SQLite,
// behind the interfaces of package broker. It owns the SQL, the columns of each
// table (internal/table) and the sealing of secret columns. It contains no business
// rule.
//
// Every method except Append joins the transaction in its context. Apply writes all
// changes of a use case to a task: on PostgreSQL in one statement, because the
// round trip to the server costs more than the work there. Concurrent calls of
// Append share a statement and its commit.
//
// Secrets are sealed with associated data table|column|row id. A method returns them
// sealed unless its comment says that it opens them.
package store
