// Package outbound owns what Bellhop sends to addresses that a user chose: the
// endpoints, the deliveries table as a queue and as a log, signing, retries and
// the end of each delivery. Numbers in OUT-n are those of docs/reliability.md.
//
// It does not know what it sends: a Kind renders the body and hears of the end.
// Notebooks and tasks are such kinds; neither is imported here.
//
//	           Enqueue (in the caller's transaction)
//	              │
//	   ┌──────► queued ──claim──► in flight ──2xx──► delivered
//	   │          ▲  │               │  │
//	enable        │  │ expiresAt     │  └─3xx, 4xx, certificate, guard──► failed
//	   │          │  ▼               │
//	 held ◄─┐     │ expired          └─408, 425, 429, 5xx, network: queued again, later
//	        └─────┴── its endpoint is disabled (410, disconnect)
//
// # The queue
//
// A claim gives a worker a delivery for the length of a lease, which it renews
// while it sends. Each claim has a name of its own, the fence: an outcome is
// recorded only under the name the row still bears. A worker that stops without
// a word (kill -9) is noticed when its lease lapses; the attempt is logged as
// abandoned, counts, and the delivery is sent again with the same webhook-id:
// at least once.
//
// Deliveries of one endpoint that share an OrderKey go one after the other; a
// row whose turn it is not is put off (parked) until its predecessor ends. Every
// host has at most four requests in flight per process. What is due is taken in
// order of time from a window; if busy hosts fill the window, the rest is found
// host by host, so that a dead host's backlog costs the others nothing.
package outbound
