// Package core decides what happens to a session of the agent host. It is pure:
// no I/O, no clock, no goroutine, no lock. It imports protocol and policy alone.
//
//	Input ──► State.Apply(Moment, Input) ──► Step{State, Rows, Frames, Effects} or an error
//
// The caller makes Rows durable, and only then replaces its State by Step.State,
// publishes Frames and runs Effects. If the write fails, the former State still
// holds. Apply never changes its receiver. The one exception is the memory
// behind open text blocks, which grows at its end: of two steps from the same
// State with text for the same block, only the later one may be kept.
//
// Times and ids come in with the input, so a recorded session can be replayed
// (see Recorded, recorded.go). One file holds one part of the state and the inputs for it:
//
//	epoch.go     opening, recovery and end of a session; the epoch of its events
//	turn.go      start, interruption and end of turns
//	text.go      text and reasoning blocks
//	call.go      tool calls, and what else an agent reports
//	question.go  questions to the user and their answers
//	queue.go     announced turns, and turns that wait for the open one
//	delivery.go  which events the broker has, and what its responses mean
//	pull.go      which events a broker gets that asks for them
//	renew.go     when the webhook token is renewed
//	status.go    status, activity of other programs, idleness
//
// Package agenthost owns everything that acts: files, programs, HTTP, timers.
package core
