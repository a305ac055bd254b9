// Package store keeps endpoints, deliveries and attempts in PostgreSQL or
// SQLite behind the interfaces of package outbound. It owns the SQL, the sealing
// of endpoints' secrets and the translation of rows; it decides nothing.
//
// Of two workers that want the same delivery one gets it: PostgreSQL by FOR
// UPDATE SKIP LOCKED, SQLite because transactions that write come one after the
// other.
package store
