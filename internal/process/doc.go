// Package process runs child programs and cleans up after them (reliability PROC-1): each child
// leads its own session and process group and is killed when its parent dies. When it ends or is stopped,
// its whole group is killed.
//
// The package owns starting, stopping, the tail of stderr and the records of running children.
// It does not own the data on stdin and stdout, nor the decision when to stop or restart a
// child.
//
//	Start ─► running ─┬─ exits by itself ────────────────────────┐
//	                  ├─ Stop: SIGINT ─► SIGTERM ─► SIGKILL ─────┤ rest of the group killed,
//	                  ├─ Kill: SIGKILL ──────────────────────────┤ then reaped ─► Done
//	                  └─ parent dies: SIGKILL by the kernel; ────┘
//	                     the rest by Sweep at the next start
//
// On Linux every child has a random mark in its environment. Descendants inherit it, so that
// those that left the group (by setsid, or with a process group of their own) are found too.
// Other systems have process groups only.
package process
