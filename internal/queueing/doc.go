// Package queueing is a discrete-event simulation of service stations: events in the order of their times,
// stations with several servers and one queue, servers that take groups, and levels that rise and fall. It knows
// nothing of Bellhop; internal/sizing builds the model from it.
//
// Times are seconds, as numbers. A simulation runs in one goroutine, and the same calls give the same results:
// of two events at one time the one that was scheduled first comes first. The caller owns the random numbers.
//
// # Dilation
//
// A sample of 1 in k jobs at a station that is k times as slow has the same load, and its waits are k times as
// long: if arrivals and services do not depend on the clock, stretching time changes nothing else. A Station
// with a Dilation of k stretches its services and divides the times that it reports by k.
package queueing
