// Package sse is Server-Sent Events on both ends of the wire: the frame codec
// (Encode, Reader), a response Writer with a deadline per write, a Fanout that
// never makes its publisher wait, Serve, which joins the two, and Follow, a
// client that reconnects and resumes.
//
// It does not know what frames mean: ids, replay and gap verdicts belong to the
// owner of a stream. To resume exactly, an owner subscribes and reads its log in
// one critical section, writes the log, then calls Serve.
//
//	publisher → Fanout.Publish → queue per Subscription (≤ 256 frames, ≤ 1 MiB) → Serve → Writer → peer
//	                                  over the cap: ErrSlow, the peer is cut and resumes by id
//
// Limits are those of reliability SSE-2, SSE-3 and SSE-4.
package sse
