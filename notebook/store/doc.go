// Package store keeps notebooks in PostgreSQL or SQLite. It is the only
// implementation of notebook.Store; storetest tests its contract. It owns the
// tables agent_sessions, notebooks, sources, source_versions and source_messages
// and lists the columns of each once (internal/table). The rules belong to
// package notebook, endpoints and deliveries to webhook/outbound.
package store
