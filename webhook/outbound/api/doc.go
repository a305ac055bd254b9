// Package api serves a user's deliveries and task webhooks over HTTP, protocol
// section 3. It translates; package outbound decides. Agents register their
// endpoints through package notebook, not here.
package api
