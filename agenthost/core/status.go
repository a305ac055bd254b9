package core

import (
	"time"

	"bellhop/protocol"
)

// status adds a status event if the status or its reason has changed.
func (x *Step) status(turnID string, status protocol.Status, reason string) {
	rec := &x.State.Record
	if rec.Status == status && rec.Reason == reason {
		return
	}
	rec.Status, rec.Reason = status, reason
	x.event(turnID, protocol.Event{Type: protocol.EventStatus, Status: status, Reason: reason}, nil, false)
}

// atRest returns the status of the session while no turn is open. It is never busy, because
// only turns are.
func (x *Step) atRest(others Activity) Activity {
	switch {
	case others.Status == protocol.StatusBusy, others.Reason != "":
		return Activity{protocol.StatusIdle, protocol.ReasonTerminal}
	case others.Status == protocol.StatusIdle || x.State.Turn != nil:
		return Activity{Status: protocol.StatusIdle}
	default:
		return Activity{Status: x.State.Record.Status}
	}
}

func (in HookReported) apply(x *Step) error {
	if x.State.Turn != nil || x.State.Record.Dir != in.Dir {
		return nil
	}
	now := x.atRest(in.Others)
	x.status("", now.Status, now.Reason)
	return nil
}

func (in TerminalAttached) apply(x *Step) error {
	switch {
	case in.Closed:
		x.State.AttachedUntil = time.Time{}
	case in.For > 0:
		x.State.AttachedUntil = x.now.Add(in.For)
	}
	switch {
	case in.Opening:
		x.effect(StopTimer{TimerIdle})
	case x.State.Turn == nil:
		x.effect(SetTimer{Name: TimerIdle})
	}
	return nil
}

func (in Idled) apply(x *Step) error {
	if x.State.Turn == nil {
		x.effect(ForgetFrames{})
	}
	return nil
}
