// Package api is the agent host's HTTP API (protocol section 2). routes.go lists
// every route; one file per resource holds its handlers and wire types.
//
// It owns access control: the agent password allows everything, a stream token
// allows prompts, reading, answers and interrupts in one session. It also owns the
// writing of streams; package agenthost decides which frames a stream has. A client
// that disconnects ends its response but never a turn.
//
//	request → CORS → Host and Origin on loopback → password or token → body → use case
package api
