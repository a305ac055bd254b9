// Package httpapi is what both servers' HTTP edges have in common: Handle, the
// one adapter from typed functions to Echo; the one table from protocol.Code to
// status and the one error shape; capped, strict reading of bodies; request log,
// CORS, Host check, rate limiter and the server's limits.
//
// It does not know routes, callers or use cases. It writes no log line, header
// or answer with a query string in it: tokens travel there.
//
//	request → RequestID → log (writes errors) → recover → headers → your middleware → Handle: body, query, path → Validate → use case → JSON
package httpapi
