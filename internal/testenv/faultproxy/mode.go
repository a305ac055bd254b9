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

// Mode is a fault that the proxy applies to connections.
type Mode struct {
	kind  kind
	delay time.Duration
	limit [2]int64 // for cut, per direction; negative = none
}

// Pass forwards everything.
func Pass() Mode { return Mode{kind: pass} }

// Latency forwards every piece after d.
func Latency(d time.Duration) Mode { return Mode{kind: latency, delay: d} }

// CutAfter forwards n more bytes of each direction of a connection, then closes both sides
// regularly: a FIN in the middle of a body.
func CutAfter(n int64) Mode { return Mode{kind: cut, limit: [2]int64{n, n}} }

// CutRequestAfter is CutAfter for bytes towards the target only.
func CutRequestAfter(n int64) Mode { return Mode{kind: cut, limit: [2]int64{n, -1}} }

// CutAnswerAfter is CutAfter for bytes from the target only.
func CutAnswerAfter(n int64) Mode { return Mode{kind: cut, limit: [2]int64{-1, n}} }

// BlackHole accepts connections and forwards nothing. Held bytes are forwarded when the mode
// changes, like packets after a partition.
func BlackHole() Mode { return Mode{kind: blackHole} }

// Trickle forwards one byte a second in each direction.
func Trickle() Mode { return Mode{kind: trickle, delay: time.Second} }

// Reset resets every connection, open or new, with RST on both sides.
func Reset() Mode { return Mode{kind: reset} }

// Refuse resets open connections and makes new ones fail, as if nothing listened. The port
// stays reserved.
func Refuse() Mode { return Mode{kind: refuse} }
