// Package bench measures Bellhop: the command "bellhop bench", and docs/benchmarks.md.
//
// It owns the scenarios and their load generators. Every figure is measured over real
// HTTP between separate processes. It stands beside a reference that is measured in
// turns with it, because a machine's speed changes more over a day than most changes to
// the code change it:
//
//	bench ─┬─ postgres           a throwaway cluster, as durable as it is by default
//	       ├─ bellhop serve      the broker
//	       ├─ bellhop bench role an agent host whose agents are scripted, without programs
//	       ├─ node               a broker of the same contract in Node, if it is installed
//	       └─ pgbench
//
// bench itself posts webhooks like many hosts, reads streams like many browsers, and
// receives outbound webhooks like many agents. Processes in a role read an order from
// stdin and write their memory use to stdout.
//
// A scenario is a row of the table in scenario.go and a function that returns the rows
// of its table. It starts its processes with the methods of run.
//
// Figures are reported, never asserted: the tests run each scenario for an instant,
// so that it keeps working, and compare no times.
package bench
