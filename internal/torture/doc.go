// Package torture is the proof of Bellhop's promise as a product: `bellhop torture`.
//
// It runs two brokers on a PostgreSQL primary with a synchronous standby, and two agent hosts, all
// as real processes, and lets users run turns whose every event is known beforehand. Meanwhile it
// kills, freezes, restores and fills whatever the seed names, and gateways on every link lie,
// repeat, hold and lose requests. When everything is quiet it reads the remaining data by HTTP, by
// SQL and from the journals' files, and package check looks for violations.
//
//	plan(seed) ─► faults ─► servers, databases, disks, gateways ◄─ users
//	                                   │                             │ what they saw
//	               HTTP, SQL, journals ▼                             ▼
//	                               collect ─► check.Observation ─► check.Run ─► report
//
// A run consists of rounds. Each has a cluster of its own and a seed that follows from the run's,
// so that one round can be repeated and a run can be continued after an interruption.
//
// The package knows Bellhop from outside only: its commands, its HTTP routes and its tables. It
// imports neither the broker's nor the host's code.
package torture
