// Package netguard keeps requests to user-chosen targets (webhooks, a non-admin's agentUrl)
// away from private and special networks, as reliability OUT-8 requires. It checks the resolved
// address at every dial, not the name, so that DNS rebinding does not help.
//
// It does not resolve names, retry or sign. The operator's exemptions are passed in Options.
package netguard
