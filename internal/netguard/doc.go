// Package netguard keeps requests whose target a user chose (webhooks, a
// non-admin's agentUrl) away from private and special networks, as reliability
// OUT-8 asks. It judges addresses, not names: the decision falls at every dial,
// on the resolved address, so that DNS rebinding gains nothing.
//
// It does not resolve names, retry or sign; whom to exempt is its user's
// business.
package netguard
