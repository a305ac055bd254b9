package core_test

import (
	"net/http"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// delivered is a session whose turn t1 is over; the broker with the incarnation i1
// has acknowledged all of its events.
func delivered(t *testing.T) *run {
	t.Helper()
	r := newRun(t)
	in := openedBy("b1", "t1")
	in.Request.Incarnation = "i1"
	r.do(in, core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go"}, Journaled: "go"},
		core.AgentStarted{TurnID: "t1", Agent: "fake"}, core.AgentEnded{TurnID: "t1"})
	r.state.Record.Acked, r.state.Pending = r.state.Record.Cursor, 0
	r.state.Delivery.Unsaved = false
	return r
}

func at(seq int64) *protocol.Cursor { return &protocol.Cursor{Epoch: 1, Seq: seq} }

// renewed is the broker's answer to a renewal.
func (r *run) renewed(cursor *protocol.Cursor, incarnation string) core.TokenRenewed {
	return core.TokenRenewed{
		AddressVersion: r.state.Delivery.AddressVersion, URL: "http://broker/hook?token=next",
		Cursor: cursor, Incarnation: incarnation,
	}
}

func (r *run) position(what string, acked, resend int64, incarnation string) {
	r.Helper()
	rec := &r.state.Record
	if rec.Acked != *at(acked) || rec.Resend.Seq != resend || rec.Incarnation != incarnation {
		r.Errorf("%s: acknowledged %v, sent again up to %v, compared with %q", what, rec.Acked, rec.Resend, rec.Incarnation)
	}
}

func TestANewIncarnationIsCompared(t *testing.T) {
	t.Parallel()
	r := delivered(t)
	end := r.state.Record.Cursor.Seq
	r.do(core.IncarnationSeen{ID: "i1"})
	if r.state.NextJob() != core.JobNone || r.state.Comparing() {
		t.Error("the incarnation is known, and it is compared again")
	}
	x := r.do(core.IncarnationSeen{ID: "i2"})
	r.want("seen", shown(x), "ShareIncarnation Post")
	if r.state.NextJob() != core.JobRenew || !r.state.Comparing() {
		t.Error("a new incarnation is not compared")
	}
	version := r.state.Delivery.Version
	r.do(r.renewed(at(1), "i2"))
	r.position("the broker went back", 1, end, "i2")
	if r.state.Comparing() || r.state.Delivery.Version == version {
		t.Error("the comparison is not over, or a response under way would count")
	}
}

func TestAComparisonWithABrokerThatHasEverythingMovesNothing(t *testing.T) {
	t.Parallel()
	r := delivered(t)
	end := r.state.Record.Cursor.Seq
	r.do(core.IncarnationSeen{ID: "i2"}, r.renewed(at(end), "i2"))
	r.position("the same", end, end, "i2")
	r.do(core.IncarnationSeen{ID: "i2", Force: true})
	if r.state.NextJob() != core.JobRenew {
		t.Error("a forced comparison is not made")
	}
	r.do(r.renewed(nil, ""))
	if r.state.Comparing() {
		t.Error("a broker that names no cursor is asked for ever")
	}
}

// Successes and refusals both have it.
func TestAnyAnswerReportsTheIncarnation(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(*run) core.Input{
		"a success": func(r *run) core.Input {
			return core.DeliveryAccepted{Sent: r.sentEvent(), Cursor: &r.state.Record.Cursor, Object: true, Incarnation: "i2"}
		},
		"a refusal": func(r *run) core.Input {
			return core.DeliveryRefused{
				Sent: r.sentEvent(), Refusal: core.Refusal{Status: 503, Code: protocol.CodeUnavailable, Incarnation: "i2"},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := delivered(t)
			r.do(in(r))
			if !r.state.Comparing() || r.state.NextJob() != core.JobRenew {
				t.Error("it was not seen")
			}
		})
	}
}

func (r *run) sentEvent() core.Sent {
	c := r.state.Record.Cursor
	return core.Sent{
		Version: r.state.Delivery.Version, Named: true, Cursors: []protocol.Cursor{c}, Last: core.EventRecord{Cursor: c},
	}
}

// Nothing is dropped for a broker that does not know the task, and its adoption gets
// all events with their prompts.
func TestATaskThatTheBrokerDoesNotKnowWaitsForItsAdoption(t *testing.T) {
	t.Parallel()
	r := delivered(t)
	end := r.state.Record.Cursor.Seq
	r.do(core.IncarnationSeen{ID: "i2"}, core.RenewalRefused{Refusal: core.Refusal{
		Status: http.StatusNotFound, Code: protocol.CodeNotFound, Incarnation: "i2",
	}})
	r.position("unknown", end, 1, "i2")
	if r.state.Record.Outbox != core.OutboxUnknown || r.state.NextJob() != core.JobNone {
		t.Errorf("the outbox is %s, the next job %v", r.state.Record.Outbox, r.state.NextJob())
	}
	adopted := openedBy("b1", "")
	adopted.Request.Attach, adopted.Request.Incarnation = true, "i2"
	r.do(adopted)
	if rec := &r.state.Record; rec.Acked != (protocol.Cursor{}) || rec.Resend.Seq != end || rec.Outbox != core.OutboxOK {
		t.Errorf("after the adoption: %+v", rec)
	}
}

// The task was deleted after the backup, while the host could not be reached.
func TestADeletedTaskThatIsBackIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	r := delivered(t)
	gone := core.DeliveryRefused{
		Sent: r.sentEvent(), Refusal: core.Refusal{Status: http.StatusGone, Code: protocol.CodeGone, Incarnation: "i1"},
	}
	r.do(gone)
	if r.state.Record.Outbox != core.OutboxStopped || r.state.NextJob() != core.JobNone {
		t.Fatalf("the outbox is %s", r.state.Record.Outbox)
	}
	r.do(core.IncarnationSeen{ID: "i2"}, r.renewed(at(1), "i2"))
	if r.state.Record.Outbox != core.OutboxOK || r.state.Record.Acked != *at(1) {
		t.Errorf("the outbox is %s at %v", r.state.Record.Outbox, r.state.Record.Acked)
	}
	r.do(core.IncarnationSeen{ID: "i3"}, core.RenewalRefused{
		Refusal: core.Refusal{Status: http.StatusGone, Code: protocol.CodeGone, Incarnation: "i3"},
	})
	if r.state.Record.Outbox != core.OutboxStopped || r.state.Comparing() {
		t.Errorf("the outbox is %s", r.state.Record.Outbox)
	}
}

// The check-in was lost, and its prompt comes after the comparison.
func TestATurnThatWasAnnouncedBeforeTheLossGoesWithItsPrompt(t *testing.T) {
	t.Parallel()
	r := delivered(t)
	next := openedBy("b1", "t2")
	next.Request.Cursor, next.Request.Incarnation = &r.state.Record.Cursor, "i1"
	end := r.state.Record.Cursor
	r.do(next, core.IncarnationSeen{ID: "i2"}, r.renewed(&end, "i2"))
	r.do(core.Prompted{TurnID: "t2", Request: protocol.PromptRequest{Prompt: "more"}, Journaled: "more"})
	if rec := &r.state.Record; rec.Resend != rec.Cursor {
		t.Errorf("events are sent again up to %v of %v", rec.Resend, rec.Cursor)
	}
}

// A check-in compares the session while a renewal for the same purpose is under way. When the
// renewal fails, nothing is left to try again.
func TestARenewalThatBecameUnnecessaryLeavesNoError(t *testing.T) {
	t.Parallel()
	r := delivered(t)
	end := r.state.Record.Cursor
	r.do(core.IncarnationSeen{ID: "i2"})
	again := openedBy("b1", "")
	again.Request.Attach, again.Request.Cursor, again.Request.Incarnation = true, &end, "i2"
	r.do(again, core.RenewalRefused{})
	if rec := &r.state.Record; rec.Outbox != core.OutboxOK || rec.OutboxError != "" {
		t.Errorf("the outbox is %s: %s", rec.Outbox, rec.OutboxError)
	}
}

// The database may be restored before the first event comes, and before the host sees it. A
// broker that names no incarnation has no use for prompts.
func TestATurnsFirstEventGoesWithItsPrompt(t *testing.T) {
	t.Parallel()
	for incarnation, want := range map[string]bool{"i1": true, "": false} {
		r := newRun(t)
		in := openedBy("b1", "t1")
		in.Request.Incarnation = incarnation
		r.do(in, core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go"}, Journaled: "go"})
		if rec := &r.state.Record; (rec.Resend == rec.Cursor) != want {
			t.Errorf("incarnation %q: prompts go with events up to %v of %v", incarnation, rec.Resend, rec.Cursor)
		}
	}
}

func TestASessionWithoutABrokerIsNeverCompared(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.do(core.HeadlessOpened{Agent: "fake"}, core.IncarnationSeen{ID: "i2", Force: true})
	if r.state.Comparing() || r.state.NextJob() != core.JobNone {
		t.Error("it is compared")
	}
}
