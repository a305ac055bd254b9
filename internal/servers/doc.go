// Package servers runs helper servers, one process for each key: a key is what
// the caller counts as one server, such as a workspace's path.
//
// Manager owns starting, the wait until a server is fit for use, stopping, and
// telling subscribers; Ports owns which port of the loopback each one gets and
// whose program really listens there. It does not know what the servers are
// for, how their health is asked, or when one should run; process groups are
// internal/process.
//
//	Start ─► port ─► process ─► ready line ─► health ─► port is ours ─► started
//	           ▲        │ port taken: another port, a bounded number of times
//	           └────────┘
//	started ─┬─ Stop, StopAllForProject, Close: SIGINT ─► SIGTERM ─► SIGKILL ─┬─► stopped
//	         ├─ Restart: stopped, then started on the same port               │
//	         └─ dies by itself, or another program has its port ──────────────┘
package servers
