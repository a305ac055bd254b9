// Package store keeps notebooks in PostgreSQL or SQLite through gorm: it is the
// only implementation of notebook.Store, and storetest is its contract. It owns
// the tables agent_sessions, notebooks, sources, source_versions and
// source_messages; it does not own rules, which are package notebook's, nor the
// endpoints and deliveries of webhook/outbound.
package store
