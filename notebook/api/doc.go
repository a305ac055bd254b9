// Package api is the HTTP edge of notebooks: the routes of protocol section 3, except for
// deliveries and task webhooks (webhook/outbound/api). A handler decodes the request, calls one
// use case of package notebook and encodes the result.
//
// There are two groups of callers, each with its own middleware: agents (with their own token
// or a token of their user) and users (session cookie or a token of kind user).
package api
