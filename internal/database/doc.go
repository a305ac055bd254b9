// Package database connects to PostgreSQL and SQLite. It owns opening and pools,
// the transaction in the context, running the statements of internal/table, the
// translation of driver errors, and migrations. It contains no table's name.
//
// A use case opens a transaction with Write. Stores join it: they call Conn with
// the context of their caller, which is the only way to get a connection:
//
//	err := db.Write(ctx, func(ctx context.Context) error {
//		if err := tasks.Lock(ctx, id); err != nil { // uses db.Conn(ctx)
//			return err
//		}
//		database.AfterCommit(ctx, feed.Wake)
//		return events.Insert(ctx, batch)
//	})
//
// A nested Write joins the outer one. If it fails, the outer one fails too, even if
// the caller ignores the error: PostgreSQL would refuse to commit, SQLite would
// not, and both must behave alike. For the same reason "insert unless present" is
// ON CONFLICT, never an insert whose error is examined.
//
// fn may run more than once (deadlock, serialization failure), so it must not
// change anything outside the database except through AfterCommit.
//
// # Times
//
// Every time is stored in UTC with microseconds, the precision of PostgreSQL.
// SQLite stores text of a fixed width, so that text order is time order. Its
// columns are declared TIMESTAMP, and only such columns scan into a time.Time;
// an expression like max(created_at) is a string there.
//
// # Limits
//
// A transaction that cannot begin within Options.Patience fails with
// protocol.CodeUnavailable. On PostgreSQL a statement may take 4 s and the wait
// for a lock 1.5 s; a connection on which the server is silent for 5 s is closed.
// Migrations have none of these limits.
package database
