package main

import "time"

// scale is how much of everything.
type scale struct {
	rounds int           // of each side, in turns
	round  time.Duration // of one side

	clients int // posting webhooks at a time
	tasks   int
	batch   int // events in a batched request

	checkIns int
	callers  int // checking in at a time

	sessions int // streaming
	readers  int // on all sessions together
	stalled  int // readers that never read
	backlog  int // bytes the stalled ones are sent at once

	busy int // sessions of the latency figure
	idle int // sessions of the idle figure

	every time.Duration // between parts of a session
}

var full = scale{
	rounds: 5, round: 5 * time.Second,
	clients: 32, tasks: 1024, batch: 100,
	checkIns: 400, callers: 16,
	sessions: 50, readers: 2000, stalled: 20, backlog: 2 << 20,
	busy: 100, idle: 10_000,
	every: 50 * time.Millisecond,
}

// smoke is for the tests: every path once.
var smoke = scale{
	rounds: 1, round: 150 * time.Millisecond,
	clients: 2, tasks: 8, batch: 10,
	checkIns: 4, callers: 2,
	sessions: 2, readers: 4, stalled: 1, backlog: 64 << 10,
	busy: 2, idle: 5,
	every: 10 * time.Millisecond,
}
