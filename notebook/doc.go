// Package notebook owns what third-party coding agents save for a user and the
// conversations about it: agent sessions, notebooks, sources with their
// versions, follow-ups and their answers (protocol section 3).
//
// It does not own the tables (notebook/store), the wire (notebook/api,
// notebook/mcp), how code is judged (a Verifier; notebook/verify) or how a
// follow-up reaches an agent's webhook (an Outbox).
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
//	   └──webhook said success:false──► refused ──response──► answered
//
// Every change locks the row of its agent session first, which is the only lock:
// numbers of versions and messages are dense, and an answer is given once.
package notebook
