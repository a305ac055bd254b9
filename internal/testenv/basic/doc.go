// Package basic owns the other sides of the original contract, for tests that
// keep the drop-in promise: an agent host that knows only /session and /stream,
// a broker whose webhook knows only single text and tool events, and a frontend
// that reads four members of a check-in's answer. None of them knows epochs,
// cursors, turns, ids of events or resuming, and none shares code with the
// product, so that a mistake cannot be made on both sides at once.
package basic
