// Package inbound is the broker's webhook: agent hosts post the final events of a task here
// (POST /api/agent/webhook) and renew their token (/renew). See protocol sections 1.4 and 1.5.
//
// It owns the order of the checks, the limits and the format of the body. broker.Ingest decides
// what an event does to a task; crypto/token signs and verifies.
//
// A request passes these checks in this order, and no byte of the body is read before the
// signature is valid (reliability IN-1):
//
//	method (router) → token shape → signature → claims → rate limit of the task
//	  → content type, body cap → schema → Ingest → 2xx
//
// If an authenticated request is rejected early, its body is still drained up to the cap.
// Otherwise the client would see a connection reset instead of the error, and a host must see
// token_expired to know that it has to renew.
package inbound
