// Package headless owns the JSON lines of the headless interface, protocol section 4:
// which lines a stream's frames become, which lines a journal's events become, and what
// a client's answer line must hold.
//
// It does not own sessions, turns or the journal, of which it reads what the interface
// Journal lists; nor the WebSockets that carry lines (agenthost/api).
//
//	frames of a stream ──► Lines.Translate ──► lines of a client that watches
//	events of a journal ──► ReadHistory ─────► lines of GET /sessions/:id/history
//
// Both make the same lines of the same turn, except that a history has a text as one
// message, without its chunks.
package headless
