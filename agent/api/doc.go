// Package api owns the agent's network front end: many sessions in one process,
// made and listed over REST, driven over WebSockets.
//
//	POST   /sessions                {instructions?, model?} → 201 {session_id, token}
//	GET    /sessions                ids and metadata
//	GET    /sessions/:id/history    every line, both ways
//	DELETE /sessions/:id            204
//	GET    /ws/:id?token=           protocol section 4, one line a text message; ?replay=all shows the whole session
//	GET    /healthz
//
// A session has a working directory of its own and lives until it is deleted,
// or until nobody has watched it for the idle time-out; a turn does not keep it
// alive, and an open question waits for the next client as long as the session.
//
//	POST ─► waiting for a client ◄──── last client leaves ────┐
//	              │  └── idle time-out ─► gone                │
//	              └─ client ─► watched ───────────────────────┘
//
// The server's token opens everything; a session's token opens that session.
// Without a server's token (on loopback only) who asks without one is the
// server's owner. It does not know models or MCP servers: Config.Open brings
// what a session needs. Lines and clients are wsline's.
package api
