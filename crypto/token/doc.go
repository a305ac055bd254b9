// Package token owns the two kinds of bearer tokens: the signed one in a
// webhook URL, which lives ten minutes, and opaque ones, of which a database
// holds only the hash.
//
// A webhook token is checked in two steps, because its secret belongs to its
// task: Inspect looks at the shape and says which task it claims, the caller
// fetches that task's secret, Verify believes nothing that the secret does not
// prove:
//
//	token ── Inspect ──► ErrFormat, ErrPayload (400), ErrInvalid (401)
//	           │ taskId, unverified
//	           ▼
//	         Verify ───► ErrInvalid, ErrExpired (401), or Claims
//
// The JWT library is used for the MAC alone, on input this package has already
// parsed: left to itself it accepts a JSON serialisation whose unsigned members
// override the signed claims, another HMAC algorithm in the header, changed
// padding bits, keys of one byte, and tokens without exp. Each has its test.
//
// It does not store tokens, count failures or know HTTP.
package token
