// Package notification owns notifications: what browsers show of a task's events while the console is closed
// (Web Push).
//
//	event ── Emit ──► a delivery for each browser of the user that wants it (outbound's queue)
//	                     │ attempt: is its sign-in alive, is its question open? then encrypt and identify
//	                     ▼
//	                  push service ──► browser
//
// A browser is an outbound.Endpoint of KindBrowser. Its address is a secret, because it is enough to ring: it is
// sealed together with its keys, and only the origin of its push service is readable. It ends with the sign-in that
// made it, and when its push service answers that it is gone.
//
// The queue, its retries and its address guard belong to outbound; the cryptography to crypto/webpush.
package notification
