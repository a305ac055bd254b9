// Package token owns the two kinds of bearer tokens: the signed token in a webhook URL, valid
// for ten minutes, and opaque tokens, of which a database holds only the hash.
//
// A webhook token is checked in two steps, because each task has its own secret. Inspect checks
// the shape and returns the task that the token claims. The caller fetches that task's secret,
// and Verify checks the signature and all claims with it:
//
//	token ── Inspect ──► ErrFormat, ErrPayload (400), ErrInvalid (401)
//	           │ taskId, unverified
//	           ▼
//	         Verify ───► ErrInvalid, ErrExpired (401), or Claims
//
// The JWT library computes only the MAC, on input that this package has already parsed. On its
// own the library accepts a JSON serialisation whose unsigned members override the signed
// claims, another HMAC algorithm in the header, changed padding bits, keys of one byte, and
// tokens without exp. Each case has its test.
//
// This package does not store tokens, count failures or know HTTP.
package token
