// Package broker is the backend's domain: users, hosts, tasks, turns, messages
// and interactions, and what can be done with them. It owns the rules; HTTP
// lives in broker/api, broker/auth, broker/feed and webhook/inbound, SQL in
// broker/store, the line to agent hosts in broker/hosts.
//
// The use cases:
//
//	Tasks         create, list, change, delete; messages; what changed since a rev
//	Sessions      check in, attach, interrupt, renew a webhook token
//	Ingest        the one place where a host's events take effect
//	Reconciler    pulls from hosts what webhooks did not bring, then Ingest
//	Interactions  the inbox of open questions
//	Hosts         registered agent hosts and their health
//	Maintenance   what happens by time alone
//
// A turn:
//
//	check-in ──► announced ──first event──► open ──finish──► closed
//	                 │                       └──the host has it no more──► closed (host-lost)
//	                 └──finish not-started, or the check-in failed──► closed
//
// A use case opens one transaction and locks the task's row first; that is the
// only lock. Every insert or change of a task's rows takes the next rev of the
// task and leaves a change behind; after the commit the Notifier hears of it.
// Nothing slow (no call to a host) happens inside a transaction.
package broker
