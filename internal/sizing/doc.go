// Package sizing says how large an installation has to be: a simulation of users over a day, on the measured costs
// of a session, a stream, an event and a delivery (docs/benchmarks.md).
//
//	ReadFigures ──► Figures ─┐
//	Use (who does what) ─────┼─► Simulate ──► Report ──► WriteText, JSON
//	Deployment (machines) ───┘
//
// The package owns the figures that it needs, the model and the report. internal/queueing owns the simulation
// itself. docs/sizing.md describes the model and its limits.
package sizing
