// Package inbound is the webhook of the broker: agent hosts post the final
// events of a task here (POST /api/agent/webhook) and renew the token they do
// it with (/renew). Protocol sections 1.4 and 1.5.
//
// It owns the token's way in, the limits and the form of the body. What an
// event does to a task is broker.Ingest's business; signing and verifying is
// crypto/token's.
//
// A request passes these gates in this order, and no body byte is read before
// the signature is right (reliability IN-1):
//
//	method (router) → token shape → signature → claims → rate limit of the task
//	  → content type, body cap → schema → Ingest → 2xx
//
// A sender whose token is right but who is refused before his body was read
// has it read to the cap and thrown away: an unread body would reach him as a
// reset connection, and a host must see token_expired to know that it is time
// to renew.
package inbound
