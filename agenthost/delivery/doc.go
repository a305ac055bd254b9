// Package delivery sends a session's events to its broker: bodies, HTTP requests
// and the clock between them. It sends one request at a time.
//
//	Session.Next ──► request ──► response ──► Session.Apply(input) ──► wait ──► Session.Next
//
// It decides nothing: what to send, what a response means and how long to wait is
// decided by agenthost/core.
package delivery
