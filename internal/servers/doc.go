// Package servers runs helper servers, one process per key. The caller chooses the keys, such
// as a workspace's path.
//
// Manager owns starting, waiting until a server is ready, stopping, and notifying subscribers.
// Ports owns which loopback port each server gets and checks which program listens there. The
// package does not know what the servers are for, how to check their health, or when one should
// run; package internal/process owns process groups.
//
//	Start ─► port ─► process ─► ready line ─► health ─► port is ours ─► started
//	           ▲        │ port taken: another port, a bounded number of times
//	           └────────┘
//	started ─┬─ Stop, Close: SIGINT ─► SIGTERM ─► SIGKILL ──────┬─► stopped
//	         ├─ Restart: stopped, then started on the same port │
//	         └─ dies by itself, or another program has its port ┘
package servers
