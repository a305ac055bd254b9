// Command bench measures Bellhop and writes docs/benchmarks.md: `make bench`.
//
// It owns the scenarios and their load generators, and is not part of a release.
// Every figure is measured over real HTTP between separate processes. It stands
// beside a reference that is measured in turns with it, because a machine's speed
// changes more over a day than most changes to the code change it:
//
//	bench ─┬─ postgres        a throwaway cluster, as durable as it is by default
//	       ├─ bellhop serve   the broker
//	       ├─ bench (host)    an agent host whose agents are scripted, without programs
//	       ├─ bench (load)    posts webhooks, like many hosts
//	       ├─ bench (readers) reads streams, like many browsers
//	       ├─ bench (receivers) receives outbound webhooks, like many agents
//	       └─ pgbench
//
// The other processes of bench are this binary again, with BELLHOP_BENCH_ROLE
// set; bench calls their methods over stdin and stdout (net/rpc), and they end
// with stdin.
//
// A scenario is a row of the table in main.go and a function that returns the rows of
// its table. It starts its processes with the methods of run. The role that loads or
// reads the other side stands in the scenario's file.
//
// Figures are reported, never asserted: the tests run each scenario for an instant,
// so that it keeps working, and compare no times.
package main
