// Package signature owns the signatures of webhooks, those that the broker sends and those that
// hosts post to it, as the Standard Webhooks specification defines them: HMAC-SHA256 over
//
//	<webhook-id>.<webhook-timestamp>.<the exact bytes of the body>
//
// in the header webhook-signature, one "v1,<base64>" per secret, so that during a rotation both
// the old and the new secret verify. A timestamp more than five minutes away is rejected.
//
// The secrets of endpoints are used for nothing else: each comes from the endpoint's owner or from
// Generate. Hosts sign with a key that OfSession derives from the agent password.
package signature
