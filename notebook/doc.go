// Package notebook owns the code that third-party coding agents save for a user and the
// conversations about it: agent sessions, notebooks, sources with their versions, follow-ups
// and their answers (protocol section 3).
//
// It does not own the tables (notebook/store), the wire format (notebook/api, notebook/mcp),
// the checks of code (a Verifier; notebook/verify) or the requests to an agent's webhook (an
// Outbox).
//
// An agent session, one per user and agent identifier:
//
//	            create                     30 days without activity
//	(nothing) ─────────► active ───────────────────────────────────► expired
//	                       │ ▲                                          │ │
//	          disconnect   │ └──────────── create, renew ───────────────┘ │
//	          (user)       ▼          renew (user)                        │
//	                  disconnected ◄──────────── disconnect ──────────────┘
//
// A user's message:
//
//	pending ──polled, or webhook 2xx──► delivered ──response──► answered
//	   └──webhook failed or expired──► undelivered ──polled──► delivered
//	   └──webhook answered success:false──► refused ──response──► answered
//
// Every change locks the row of its agent session first and needs no other lock.
// Therefore the numbers of versions and messages have no gaps, and a message is
// answered once.
package notebook
