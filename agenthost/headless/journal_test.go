package headless_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/agenthost/headless"
	"bellhop/protocol"
)

// rows is a journal of one session: its events in order, and the prompts of its turns.
type rows struct {
	events  []core.EventRecord
	prompts map[string]string
}

// add appends an input event of a turn.
func (r *rows) add(t *testing.T, turn, text string, at protocol.Cursor) {
	t.Helper()
	body, err := protocol.Marshal(&protocol.Event{
		Type: headless.EventInput, EventID: text, TurnID: turn, Text: &text, Epoch: at.Epoch, Seq: at.Seq,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.events = append(r.events, core.EventRecord{Cursor: at, Type: headless.EventInput, TurnID: turn, Body: body})
}

func (r *rows) after(limit int, keep func(protocol.Cursor) bool) (out []core.EventRecord) {
	for i := range r.events {
		if keep(r.events[i].Cursor) && len(out) < limit {
			out = append(out, r.events[i])
		}
	}
	return out
}

func (r *rows) Events(_ context.Context, _ string, epoch, after int64, limit int) ([]core.EventRecord, error) {
	return r.after(limit, func(c protocol.Cursor) bool { return c.Epoch == epoch && c.Seq > after }), nil
}

func (r *rows) Pending(_ context.Context, _ string, after protocol.Cursor, limit int) ([]core.EventRecord, error) {
	return r.after(limit, after.Less), nil
}

func (r *rows) Newest(_ context.Context, _ string, before protocol.Cursor, limit int) ([]core.EventRecord, error) {
	out := r.after(len(r.events), func(c protocol.Cursor) bool { return c.Less(before) })
	slices.Reverse(out)
	return out[:min(limit, len(out))], nil
}

func (r *rows) Prompt(_ context.Context, _, turnID string) (string, error) {
	return r.prompts[turnID], nil
}

// TurnsFrom knows the turn of a hundred frames: t1 has the first hundred, t2 the second.
func (r *rows) TurnsFrom(_ context.Context, _ string, offset int64) ([]core.TurnRecord, error) {
	if offset < 0 {
		return nil, nil
	}
	return []core.TurnRecord{{ID: fmt.Sprint("t", 1+offset/100)}}, nil
}

func (r *rows) Interaction(_ context.Context, _, id string) (*core.InteractionRecord, error) {
	if id != "q1" {
		return nil, protocol.Errorf(protocol.CodeNotFound, "no question %s", id)
	}
	return &core.InteractionRecord{
		State: protocol.InteractionResolved, Answer: &protocol.InteractionAnswer{Text: "red"},
		Question: protocol.Event{InteractionID: id, State: protocol.InteractionOpen, Prompt: "Colour?"},
	}, nil
}

func TestASourceReadsTheJournal(t *testing.T) {
	t.Parallel()
	journal := &rows{prompts: map[string]string{"t2": "prompt of t2"}}
	for i, turn := range []string{"t1", "t1", "t3"} {
		journal.add(t, turn, fmt.Sprintf("input %d of %s", i, turn), protocol.Cursor{Epoch: 2, Seq: int64(i + 1)})
	}
	source, ctx := headless.NewSource(journal, "s"), t.Context()
	for at, want := range map[protocol.Cursor]string{
		{Epoch: 2, Seq: 2}: "input 1 of t1", {Epoch: 2, Seq: 4}: "", {Epoch: 1, Seq: 2}: "", {Epoch: 2}: "",
	} {
		switch e, err := source.Event(ctx, at); {
		case want == "":
			if protocol.CodeOf(err) != protocol.CodeNotFound {
				t.Errorf("event at %v: %+v, %v", at, e, err)
			}
		case err != nil || e.EventID != want:
			t.Errorf("event at %v: %+v, %v", at, e, err)
		}
	}
	for offset, want := range map[int64]string{
		-1: "", 0: "input 1 of t1", 150: "prompt of t2", 250: "input 2 of t3", 350: "",
	} {
		got := ""
		e, err := source.Input(ctx, offset)
		if err != nil {
			t.Error(err)
		}
		if e != nil {
			got = *e.Text
		}
		if got != want {
			t.Errorf("input of the frame %d: %q, want %q", offset, got, want)
		}
	}
	want := &protocol.Event{
		InteractionID: "q1", Prompt: "Colour?", State: protocol.InteractionResolved,
		Answer: &protocol.InteractionAnswer{Text: "red"},
	}
	if q, err := source.Question(ctx, "q1"); err != nil || !reflect.DeepEqual(q, want) {
		t.Errorf("question: %+v, %v", q, err)
	}
	if _, err := source.Question(ctx, "q2"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("a question that does not exist: %v", err)
	}
}

// A history is read in pages of 500 events.
func TestAHistoryHasAllEvents(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 499, 500, 501, 1200} {
		journal := &rows{}
		for i := range n {
			journal.add(t, "t1", fmt.Sprint(i), protocol.Cursor{Epoch: int64(1 + i/700), Seq: int64(1 + i)})
		}
		lines, err := headless.ReadHistory(t.Context(), journal, "s")
		if err != nil || len(lines) != n {
			t.Errorf("%d lines of %d events, %v", len(lines), n, err)
		}
		for i := range lines {
			if *lines[i].Text != fmt.Sprint(i) {
				t.Fatalf("line %d is %q", i, *lines[i].Text)
			}
		}
	}
}
