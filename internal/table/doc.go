// Package table describes a database table once. A Column has a name, a
// PostgreSQL type, the value that a row writes and the target that a row is
// read into; a Table is a list of columns, and everything that names columns
// is derived from it: SELECT, INSERT, upsert, UPDATE and unnest.
//
//	var notes = table.New("notes",
//		table.Text("id", func(n *Note) *string { return &n.ID }).Key(),
//		table.Text("title", func(n *Note) *string { return &n.Title }),
//		table.Time("created_at", func(n *Note) *time.Time { return &n.CreatedAt }).Fixed(),
//	)
//
// Adding a column is a migration, a field and one such row. The texts of the
// statements are built once, at the first use, with ? as the placeholder.
//
// The package depends on SQL and database/sql, but on no driver and no domain. The
// caller runs the statements (internal/database, agenthost/journal).
package table
