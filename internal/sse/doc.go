// Package sse implements Server-Sent Events on both ends of the wire: the frame codec (Encode,
// Reader), a response Writer with a deadline per write, a Fanout that never blocks its
// publisher, Serve, which writes a subscription to a response, and Follow, a client that
// reconnects and resumes.
//
// A Writer belongs to a handler, or takes the connection from net/http and continues without it
// (TakeWriter): thousands of silent readers then cost a goroutine each and no buffers.
//
// It does not know what frames mean: the owner of a stream handles ids, replay and gaps. To
// resume without a gap, the owner subscribes and reads its log in one critical section, writes
// the log, then calls Serve.
//
//	publisher → Fanout.Publish → queue per Subscription (≤ 256 frames, ≤ 1 MiB) → Serve → Writer → peer
//	                                  over the cap: ErrSlow, the peer is cut and resumes by id
//
// Limits are those of reliability SSE-2, SSE-3 and SSE-4.
package sse
