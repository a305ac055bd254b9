// Package check decides whether a run of Bellhop kept its promise: no event lost,
// none twice, none out of order, and no receipt for an event that was not stored.
//
// It is a pure function of an Observation: data read from outside by HTTP, by SQL
// and from the journals' SQLite files, and records of the users and gateways. It
// imports no code of Bellhop, so that a fault of that code cannot hide here.
//
// Mutations is the self-test: it damages an observation in known ways, and the checker must
// report each of them.
package check
