package main

import "time"

// scale holds the sizes of all scenarios.
type scale struct {
	rounds int           // of each side, in turns
	round  time.Duration // of one side

	clients int // clients that post webhooks at a time
	tasks   int
	batch   int // events in a batched request

	checkIns int
	callers  int // clients that check in at a time

	sessions int // sessions that stream
	readers  int // on all sessions in total
	stalled  int // readers that never read
	backlog  int // bytes sent to the stalled readers at once

	busy int // sessions of the latency figure
	idle int // sessions of the idle figure

	endpoints int           // of outbound webhooks
	queued    int           // deliveries that are due later
	hanging   int           // deliveries to the hanging endpoint
	ahead     time.Duration // how far ahead of their due time deliveries are queued

	pieces     int // pieces of text of an agent
	workspaces int // workspaces of the demo agent at once
	servers    int // of OpenCode at once

	every time.Duration // between parts of a session
}

var full = scale{
	rounds: 5, round: 5 * time.Second,
	clients: 32, tasks: 1024, batch: 100,
	checkIns: 400, callers: 16,
	sessions: 50, readers: 2000, stalled: 20, backlog: 3_900_000,
	busy: 100, idle: 10_000,
	endpoints: 1000, queued: 100_000, hanging: 2000, ahead: 2 * time.Second, // the broker polls each second
	pieces: 40, workspaces: 20, servers: 3,
	every: 50 * time.Millisecond,
}

// smoke runs every path once, for the tests.
var smoke = scale{
	rounds: 1, round: 150 * time.Millisecond,
	clients: 2, tasks: 8, batch: 10,
	checkIns: 4, callers: 2,
	sessions: 2, readers: 4, stalled: 1, backlog: 64 << 10,
	busy: 2, idle: 5,
	endpoints: 4, queued: 50, hanging: 8, ahead: 10 * time.Millisecond,
	pieces: 10, workspaces: 3, servers: 1,
	every: 10 * time.Millisecond,
}
