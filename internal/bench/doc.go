// Command bench measures Bellhop and writes docs/benchmarks.md: `make bench`.
//
// It owns the benchmarks and their load generators and ships no code. Every
// figure is taken over real HTTP between processes of their own, and stands
// beside a yardstick taken in turns with it, because a machine's speed changes
// more over a day than most changes to the code do:
//
//	bench ─┬─ postgres        a throwaway cluster, as durable as it is by default
//	       ├─ bellhop serve   the broker
//	       ├─ bench (host)    an agent host whose agents are scripted, without programs
//	       ├─ bench (load)    posts webhooks, like many hosts
//	       ├─ bench (readers) reads streams, like many browsers
//	       ├─ bench (receivers) takes outbound webhooks, like many agents
//	       └─ pgbench
//
// The other processes of bench are this binary again, with BELLHOP_BENCH_ROLE
// set; they read orders from stdin, a line of JSON each, and end with it.
//
// A figure is reported, never asserted: the tests run each benchmark for an
// instant, so that it does not rot, and look at no time.
package main
