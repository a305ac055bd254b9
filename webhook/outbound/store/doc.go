// Package store keeps endpoints, deliveries and attempts in PostgreSQL or
// SQLite behind the interfaces of package outbound. It owns the SQL, the columns
// of each table (internal/table) and the sealing of endpoints' secrets; it
// decides nothing.
//
// If two workers claim the same delivery, one gets it: on PostgreSQL by FOR
// UPDATE SKIP LOCKED, on SQLite because it runs one write transaction at a time.
package store
