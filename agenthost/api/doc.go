// Package api is the agent host's HTTP API (protocol section 2). routes.go lists
// every route; one file per resource holds its handlers and wire types.
//
// It owns who may call what: the agent password opens everything, a stream token
// its one session (to prompt, read, answer and interrupt). It also owns how a
// stream is written; which frames a stream has is decided by agenthost. A peer
// that leaves ends its answer and never a turn.
//
//	request → CORS → Host and Origin on loopback → password or token → body → use case
package api
