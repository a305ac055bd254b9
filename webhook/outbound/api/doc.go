// Package api serves a user's deliveries and task webhooks over HTTP (protocol section 3).
// Package outbound makes the decisions. Agents register their endpoints through package
// notebook, not here.
package api
