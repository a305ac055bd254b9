// Package broker is the backend's domain: users, hosts, tasks, turns, messages
// and interactions, and the use cases on them. It owns the rules; HTTP is in
// broker/api, broker/auth, broker/feed and webhook/inbound, SQL in broker/store,
// the calls to agent hosts in broker/hosts.
//
// The use cases:
//
//	Tasks         create, list, change, delete; messages
//	Feeds         the changes since a rev
//	Sessions      check in, attach, interrupt, relay, diff, renew a webhook token
//	Queue         keeps the messages that wait for their agent, and starts their turns
//	Ingest        applies the effects of a host's events; no other code does
//	Reconciler    pulls the events that webhooks missed, and passes them to Ingest
//	Verifier      compares a session's journal with its rows in the database
//	SessionEnds   ends the sessions of deleted tasks on their hosts
//	Recovery      asks hosts to compare their sessions with a restored database
//	Adoption      makes tasks for sessions that the database lost with a restore
//	Interactions  the inbox of open questions
//	Hosts         registered agent hosts and their health
//	AuditLog      who did what; each act adds its entry in its own transaction
//	Announcements notices of administrators to users and hosts
//	Maintenance   the work that is due by time alone
//
// Each use case declares the store interface that it needs in its own file. Updater
// and Targets are shared: only Updater changes a task, and only Targets finds its
// host.
//
// A turn:
//
//	check-in ──► announced ──first event──► open ──finish──► closed
//	                 │                       └──lost by its host──► closed (host-lost)
//	                 └──finish not-started, or the check-in failed──► closed
//
// Updater opens one transaction and locks the task's row first; that is the only
// lock. Every insert or change of a task's rows takes the task's next rev and
// records a change. The events for users' webhooks are queued in the same
// transaction; after its commit the Notifier wakes the readers. Nothing slow (no
// call to a host) happens inside a transaction.
package broker
