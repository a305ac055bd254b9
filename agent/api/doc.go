// Package api owns the agent's network front end: many sessions in one process, created and
// listed over REST, driven over WebSockets.
//
//	POST   /sessions                {instructions?, model?} → 201 {session_id, token}
//	GET    /sessions                ids and metadata; with a history, also ended ones (?limit= ?before=)
//	GET    /sessions/:id/history    every line, both ways
//	DELETE /sessions/:id            204; ?history=keep ends the session and keeps its history
//	GET    /ws/:id?token=           protocol section 4, one line a text message; ?replay=all shows the whole session
//	GET    /healthz
//
// GET /ws/:id with an id that is new opens a session with this id, see named.go.
//
// A session has a working directory of its own. It exists until it is deleted, or until no
// client was connected for the idle time-out. It never ends during a turn. An open question
// waits for the next client as long as the session exists.
//
//	POST ─► waiting for a client ◄──── last client leaves ────┐
//	              │  └── idle time-out ─► ended               │
//	              └─ client ─► watched ───────────────────────┘
//
// With Config.Workspaces the working directory stays for a time, if a file is in it.
//
// With Config.History the lines of a session are stored before clients get them, and are served
// after its end. Without it they end together. Package history owns the file.
//
// The server's token opens everything; a session's token opens that session. A server without a
// token (only on loopback) treats requests without one as its owner's. The package does not
// know models or MCP servers: Config.Open provides what a session needs. Package wsline owns
// lines and clients.
package api
