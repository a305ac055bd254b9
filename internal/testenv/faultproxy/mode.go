package faultproxy

import "time"

type kind int

const (
	pass kind = iota
	latency
	cut
	blackHole
	trickle
	reset
	refuse
)

type direction int

const (
	request direction = iota
	answer
)

// Mode is what the proxy does to connections.
type Mode struct {
	kind  kind
	delay time.Duration
	limit [2]int64 // of cut, per direction; below zero = none
}

// Pass forwards everything.
func Pass() Mode { return Mode{kind: pass} }

// Latency forwards every piece after d.
func Latency(d time.Duration) Mode { return Mode{kind: latency, delay: d} }

// CutAfter forwards n more bytes of either direction of a connection, then
// closes both sides in the ordinary way: a FIN in the middle of a body.
func CutAfter(n int64) Mode { return Mode{kind: cut, limit: [2]int64{n, n}} }

// CutRequestAfter is CutAfter for bytes towards the target only.
func CutRequestAfter(n int64) Mode { return Mode{kind: cut, limit: [2]int64{n, -1}} }

// CutAnswerAfter is CutAfter for bytes from the target only.
func CutAnswerAfter(n int64) Mode { return Mode{kind: cut, limit: [2]int64{-1, n}} }

// BlackHole accepts and forwards nothing. Like packets after a partition, what
// was held goes on its way when the mode changes.
func BlackHole() Mode { return Mode{kind: blackHole} }

// Trickle forwards one byte a second each way.
func Trickle() Mode { return Mode{kind: trickle, delay: time.Second} }

// Reset answers every connection, open or new, with RST on both sides.
func Reset() Mode { return Mode{kind: reset} }

// Refuse resets open connections and lets new ones be refused, as if nothing
// listened; the port stays reserved.
func Refuse() Mode { return Mode{kind: refuse} }
