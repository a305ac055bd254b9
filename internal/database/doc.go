// Package database owns the way to PostgreSQL and SQLite: opening and pools,
// the transaction in the context, the translation of driver errors, and
// migrations. It knows no table.
//
// A use case opens a transaction with Write; stores call Conn with the context
// they were given and so join it. There is no other way to a connection:
//
//	err := db.Write(ctx, func(ctx context.Context) error {
//		if err := tasks.Lock(ctx, id); err != nil { // uses db.Conn(ctx)
//			return err
//		}
//		database.AfterCommit(ctx, feed.Wake)
//		return events.Insert(ctx, batch)
//	})
//
// A nested Write joins the outer one, and its failure dooms the outer one too,
// even if the caller swallows the error: PostgreSQL would refuse to commit,
// SQLite would not, and both must behave alike. For the same reason "insert
// unless present" is ON CONFLICT, never insert-and-look-at-the-error.
//
// fn may run more than once (deadlock, serialization failure), so it has no
// effect outside the database other than through AfterCommit.
//
// # Times
//
// Every time is stored in UTC with microseconds, which is what PostgreSQL
// keeps. SQLite keeps text of a fixed width, so that text order is time order;
// its columns are declared TIMESTAMP, and only such columns scan into a
// time.Time (an expression like max(created_at) comes back as a string there).
//
// # Limits
//
// A transaction that cannot begin within Options.Patience fails with
// protocol.CodeUnavailable. A PostgreSQL statement is given 4 s, a lock 1.5 s,
// and a server that stays silent for 5 s is given up on, whatever TCP says.
// Migrations have none of these limits.
package database
