// Package wsline delivers a session's lines (protocol section 4) to any number of WebSocket
// clients. One Hub per session keeps the transcript, replays it to new clients and sends each
// new line to all of them; Serve runs one connection.
//
//	session ─ Publish ─► Hub ─┬─► Watcher (bounded queue) ─ Serve ─► client
//	session ─ Accepted ─►  │  └─► Watcher …
//	                  transcript ─► History, replay to the next client
//
// A session never waits for a client: a client whose queue is full is disconnected. A line is
// sent only to the clients of its own session's hub; Notice is for lines that belong to no
// session.
//
// The package does not know sessions, tokens or the effect of a line: the session's owner
// passes lines in and handles the lines of clients.
//
// Close codes: 1000 the session has ended, 1001 the server stops, 1003 a binary frame, 1007
// invalid UTF-8, 1008 the client reads too slowly, 1009 a line over protocol.MaxLine. A client
// that answers no ping is disconnected without a code.
package wsline
