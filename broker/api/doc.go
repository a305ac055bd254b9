// Package api is the HTTP layer of the broker: every route of protocol section 1 on
// Echo, listed in routes.go. A handler decodes the request, calls one use case of
// package broker and encodes the result.
//
// Package api does not own authentication (Auth), the webhook (Webhook) or the
// feeds (Feed): these are given as fields. The error shape, the table from code to
// status, the size limits and CORS belong to internal/httpapi.
//
// A request passes, outside in:
//
//	httpapi.New: request id, log, panic guard, body deadline
//	  → CORS → host and origin guard (on loopback only)
//	  → router: 404, 405 + Allow, never a redirect
//	  → no-store → caller (401; 403 for a cookie from another site) → handler
//
// CORS comes before everything that refuses requests, so that a page can read the
// refusal. The caller check comes after the router, so that an unknown route is 404
// for every caller.
package api
