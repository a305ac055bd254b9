// Package basic owns counterparts that implement only the original contract, for tests of
// compatibility: an agent host with only /session and /stream, a broker whose webhook knows
// only single text and tool events, and a frontend that reads four members of a check-in's
// response. None of them knows epochs, cursors, turns, event ids or resuming. They share no
// code with the product, so that a mistake cannot be on both sides.
package basic
