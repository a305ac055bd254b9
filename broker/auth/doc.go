// Package auth authenticates the callers of the broker: a person with a session
// cookie (console) or a program with an API token (Authorization: Bearer bhp_…).
//
// It owns passwords (argon2id), second factors, cookie sessions, API tokens, one-time sign-in
// links, the limit on sign-in attempts and the cross-site check of requests that a
// cookie authenticates. It does not own the rows (its stores do) or the routes
// (broker/api). It does not decide which rows a caller may access: use cases limit
// every query to the caller's user id.
//
//	request ── Authorization: Bearer ──► hash ──► token row ──► user ──► Caller
//	        └─ cookie ──► hash ──► session row ──► user ──► cross-site check ──► Caller
//
// If a request has an Authorization header, a cookie is ignored, even when the
// token is wrong. Secrets are compared by their hash and never logged.
package auth
