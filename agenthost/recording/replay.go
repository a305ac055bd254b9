package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"bellhop/agenthost/core"
)

// Replay applies the inputs of a recording again. The zero value is ready.
type Replay struct {
	sessions map[string]core.State
	fromBoot bool // the recording has every input of the current run
}

// Result is what an input changes when it is applied again.
type Result struct {
	Entry
	Before, After core.State
	// Step is nil if the input changed nothing: the host refused it or could not store
	// the step (Input.Error says why), or Missing is true.
	Step *core.Step
	// Missing means that the session's beginning is not in the recording, so its state is
	// unknown.
	Missing bool
	// Differs says how the replay departs from what the host did; "" if it does not.
	Differs string
}

// Apply applies an entry. The beginning of a run ends all sessions of the run before;
// such an entry returns false.
func (r *Replay) Apply(e Entry) (Result, bool) {
	if e.Part > 0 {
		if e.Part == 1 || r.sessions == nil {
			r.sessions, r.fromBoot = map[string]core.State{}, e.Part == 1
		}
		return Result{}, false
	}
	out := Result{Entry: e}
	state, known := r.state(&e)
	if !known {
		out.Missing = true
		return out, true
	}
	out.Before, out.After = state, state
	step, err := apply(state, &e.Input)
	switch {
	case err != nil && e.Input.Error == "":
		out.Differs = "the host applied the input; the replay refuses it: " + err.Error()
	case err != nil:
		if errors.As(err, &damagedError{}) {
			out.Differs = err.Error()
		}
	case e.Input.Error == "":
		out.Step, out.After = step, step.State
	}
	r.keep(e.Session, out.After)
	return out, true
}

// state returns the state that the input meets. Recovered is the first input of a session
// after a start of the host; new sessions begin with Opened or HeadlessOpened.
func (r *Replay) state(e *Entry) (core.State, bool) {
	if _, ok := e.Input.Input.(core.Recovered); ok {
		return core.New(e.Session), true
	}
	if state, ok := r.sessions[e.Session]; ok {
		return state, true
	}
	if !r.fromBoot {
		return core.State{}, false
	}
	switch e.Input.Input.(type) {
	case core.Opened, core.HeadlessOpened:
		return core.New(e.Session), true
	}
	return core.State{}, false
}

// keep stores a session's state. A deleted session is unknown to the host: its id may be
// used again.
func (r *Replay) keep(session string, state core.State) {
	if r.sessions == nil {
		r.sessions = map[string]core.State{}
	}
	if state.Deleted {
		delete(r.sessions, session)
		return
	}
	r.sessions[session] = state
}

// damagedError is the error of an input that the core cannot handle, such as a line that
// was changed by hand.
type damagedError struct{ cause any }

func (d damagedError) Error() string { return fmt.Sprintf("the input is damaged: %v", d.cause) }

func apply(state core.State, r *core.Recorded) (step *core.Step, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			step, err = nil, damagedError{cause}
		}
	}()
	in, ok := r.Input.(core.Prompted)
	if !ok || r.Error != "" {
		return state.Apply(r.Moment(), r.Input)
	}
	hash := leaveOutHash(&state, &in)
	if step, err = state.Apply(r.Moment(), r.Input); err == nil && hash != "" {
		restoreHash(step, in.TurnID, hash)
	}
	return step, err
}

// leaveOutHash removes the announced hash of a prompt in which a secret was masked, and
// returns it: the host compared the prompt as it was sent.
func leaveOutHash(state *core.State, in *core.Prompted) (hash string) {
	announced := state.Announced
	if in.New || announced == nil || announced.PromptSHA256 == "" {
		return ""
	}
	if sum := sha256.Sum256([]byte(in.Request.Prompt)); hex.EncodeToString(sum[:]) == announced.PromptSHA256 {
		return ""
	}
	unchecked := *announced
	unchecked.PromptSHA256 = ""
	state.Announced = &unchecked
	return announced.PromptSHA256
}

// restoreHash puts the hash into the records of the turn that the step made.
func restoreHash(step *core.Step, turnID, hash string) {
	set := func(t *core.TurnRecord) {
		if t.ID == turnID {
			t.PromptSHA256 = hash
		}
	}
	for i := range step.Rows.Turns {
		set(&step.Rows.Turns[i])
	}
	if step.State.Turn != nil {
		set(&step.State.Turn.Record)
	}
	for i := range step.State.Queue {
		set(&step.State.Queue[i].Record)
	}
}
