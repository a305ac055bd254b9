// Package process runs child programs that leave nothing behind (reliability
// PROC-1): each child leads its own process group, dies with its parent, and
// takes its whole group with it, whether it ends by itself or is stopped.
//
// It owns starting, stopping, the tail of stderr and the records of running
// children. It does not own what is said over stdin and stdout, nor when a
// child should be stopped or started again.
//
//	Start ─► running ─┬─ exits by itself ────────────────────────┐
//	                  ├─ Stop: SIGINT ─► SIGTERM ─► SIGKILL ─────┤ rest of the group killed,
//	                  ├─ Kill: SIGKILL ──────────────────────────┤ then reaped ─► Done
//	                  └─ parent dies: SIGKILL by the kernel; ────┘
//	                     the rest by Sweep at the next start
//
// On Linux every child carries a random mark in its environment. Descendants
// inherit it, so that those that left the group (setsid, or a group of their own
// for a command) are found too. Other systems have process groups only.
package process
