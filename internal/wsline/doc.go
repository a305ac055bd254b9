// Package wsline owns a session's lines (protocol section 4) on their way to any
// number of WebSocket clients: one Hub per session keeps the transcript, replays
// what a new client needs and fans out what comes; Serve carries it over one
// connection.
//
//	session ─ Publish ─► Hub ─┬─► Watcher (bounded queue) ─ Serve ─► client
//	session ─ Accepted ─►  │  └─► Watcher …
//	                  transcript ─► History, replay to the next client
//
// A session never waits for a client: one whose queue is full is cut. A line
// goes to the clients of its session's hub and to no others; Notice is for those
// that belong to no session.
//
// It does not know sessions, tokens or what a line does: whoever serves a
// session hands lines in, and lines of clients out.
//
// Close codes: 1000 the session has ended, 1001 the server stops, 1003 a binary
// frame, 1007 invalid UTF-8, 1008 a client that reads too slowly, 1009 a line
// over protocol.MaxLine. One that answers no ping is gone without a code.
package wsline
