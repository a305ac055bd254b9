// Package webpush owns the cryptography of notifications to browsers: messages are encrypted for one browser
// (RFC 8291 with the content coding of RFC 8188), and the sender identifies itself to the push service
// (VAPID, RFC 8292).
//
//	message ── Receiver.Encrypt ──► body, which only the browser can open
//	key ─────── Identity.Authorization ──► header, which only the push service of that origin accepts
//
// It does not send requests, and does not store keys or subscriptions.
package webpush
