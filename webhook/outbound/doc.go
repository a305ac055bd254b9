// Package outbound owns the requests that Bellhop sends to addresses chosen by users: the
// endpoints, the deliveries table as queue and as log, signing, retries and the end of each
// delivery. Numbers in OUT-n are those of docs/reliability.md.
//
// It does not know the contents: a Kind renders the body and is notified of the end. Notebooks
// and tasks are such kinds; neither is imported here.
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
// A claim gives a worker a delivery for the length of a lease, which the worker renews while it
// sends. Each claim has a unique name that serves as a fence: an outcome is recorded only while
// the row still has that name. A worker that dies (kill -9) is noticed when its lease lapses:
// the attempt is logged as abandoned and counted, and the delivery is sent again with the same
// webhook-id. Delivery is therefore at least once.
//
// Deliveries of one endpoint that share an OrderKey are sent one after the other. A row whose
// predecessor is open is parked: it is due again when the predecessor ends. Every host has at
// most four requests in flight per process. A claim reads a window: the
// deliveries that have been due for the longest time. If busy hosts fill the window, the claim
// looks past them host by host, so that a backlog for an unreachable host does not delay the
// others.
package outbound
