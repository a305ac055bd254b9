// Package signature owns the secrets and signatures of outbound webhooks, as the Standard
// Webhooks specification defines them: HMAC-SHA256 over
//
//	<webhook-id>.<webhook-timestamp>.<the exact bytes of the body>
//
// in the header webhook-signature, one "v1,<base64>" per secret, so that during a rotation both
// the old and the new secret verify. A timestamp more than five minutes away is rejected.
//
// The secrets are used for nothing else: each comes from the endpoint's owner or from Generate.
package signature
