// Package signature owns the secrets and signatures of outbound webhooks as the
// Standard Webhooks specification has them: HMAC-SHA256 over
//
//	<webhook-id>.<webhook-timestamp>.<the exact bytes of the body>
//
// in the header webhook-signature, one "v1,<base64>" per secret, so that during
// a rotation the old and the new one both verify. A timestamp more than five
// minutes away is refused.
//
// Keys of webhooks are no other keys: a secret comes from the endpoint's owner
// or from Generate and signs nothing else.
package signature
