// Package check decides whether a run of Bellhop kept its promise: no event lost, none twice,
// none out of order, and no receipt for what was not stored.
//
// It is a pure function of an Observation: what was read from outside by HTTP, by SQL and from
// the journals' SQLite files, and what users and gateways saw themselves. It imports nothing of
// Bellhop's code, so that a fault of that code cannot hide here.
//
// Mutations is the self-test: it damages an observation in known ways, and the checker must
// report each of them.
package check
