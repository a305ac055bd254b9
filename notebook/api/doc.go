// Package api is the HTTP edge of notebooks: the routes of protocol section 3
// but for deliveries and task webhooks, which are webhook/outbound's. A handler
// decodes, calls one use case of package notebook and encodes.
//
// Two groups of callers: agents (their own token, or a token of their user) and
// users (session cookie or a token of kind user), each behind the middleware
// that arrives as a field.
package api
