// Package httpapi is the common part of both servers' HTTP edges: Handle, the one adapter from
// typed functions to Echo; the one table from protocol.Code to status and the one error format;
// capped, strict reading of bodies; request log, CORS, Host check, rate limiter and the
// server's limits.
//
// It does not know routes, callers or use cases. It never writes a query string to a log,
// header or response, because queries may contain tokens.
//
//	request → RequestID → log (writes errors) → recover → headers → your middleware
//	        → Handle: body, query, path → Validate → use case → JSON
package httpapi
