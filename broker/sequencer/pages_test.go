package sequencer_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

func TestAKnownEventAtAnotherPosition(t *testing.T) {
	t.Parallel()
	state := stored(sentAt("a", "a", at(1, 1)), sentAt("b", "b", at(1, 2)))
	late := withLate(stored(sentAt("f", "f", at(2, 1))), sentAt("b", "b", at(1, 2)))
	unnumbered := stored(basic("b"))
	for _, c := range []struct {
		rule  string
		state sequencer.State
		send  []sequencer.Event
		want  string
	}{
		{"the next one: it moves", state, []sequencer.Event{sentAt("b", "b", at(2, 1))}, "moved [0], accepted [], 2/1"},
		{
			"between new ones", state,
			[]sequencer.Event{sentAt("c", "c", at(2, 1)), sentAt("b", "b", at(2, 2)), sentAt("d", "d", at(2, 3))},
			"moved [1], accepted [0 2], 2/3",
		},
		{"within its epoch it never moves", state, []sequencer.Event{sentAt("b", "b", at(1, 3))}, "conflict"},
		{
			"below the cursor's epoch it stays", stored(sentAt("b", "b", at(2, 1))),
			[]sequencer.Event{sentAt("b", "b", at(1, 2))},
			"moved [], accepted [], 2/1",
		},
		{"beyond the next there is a gap", state, []sequencer.Event{sentAt("b", "b", at(2, 2))}, "gap 2/0"},
		{"with other content", state, []sequencer.Event{sentAt("b", "other", at(2, 1))}, "conflict"},
		{
			"nothing moves in a refused request", state,
			[]sequencer.Event{sentAt("b", "b", at(2, 1)), sentAt("c", "c", at(2, 3))},
			"gap 2/0",
		},
		{
			"a late event gets its effects", late,
			[]sequencer.Event{sentAt("b", "b", at(2, 2))},
			"moved [0], accepted [0], 2/2",
		},
		{
			"a late event stays late in another ended epoch",
			withLate(stored(sentAt("f", "f", at(3, 1))), sentAt("b", "b", at(1, 2))),
			[]sequencer.Event{sentAt("b", "b", at(2, 1))},
			"fenced 3/1",
		},
		{
			"a late event has no effects at a position that is taken", late,
			[]sequencer.Event{sentAt("b", "b", at(2, 1))},
			"diverged 2/1",
		},
		{"an event without a position gets none", unnumbered, []sequencer.Event{sentAt("b", "b", at(1, 1))}, "conflict"},
	} {
		d := sequencer.Decide(c.state, c.send)
		got := fmt.Sprintf("moved %v, accepted %v, %v", d.Moved, d.Accepted, d.Cursor)
		if d.Refusal != nil {
			if got = string(d.Refusal.Code); d.Refusal.Cursor != nil {
				got += " " + d.Refusal.Cursor.String()
			}
			if len(d.Moved) > 0 {
				t.Errorf("%s: moved in a refused request", c.rule)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
		next := record(c.state, c.send, d)
		for _, i := range d.Moved {
			if known := next.Known[c.send[i].ID]; known.Position != c.send[i].Position || known.Digest != c.send[i].Digest ||
				known.Late {
				t.Errorf("%s: recorded %+v", c.rule, known)
			}
		}
	}
}

// Any holder of the webhook token can name an epoch. The host alone begins one.
func TestAnEpochThatTheHostHasNotBegunIsRefused(t *testing.T) {
	t.Parallel()
	state := stored(event(1, 1), event(1, 2))
	for _, c := range []struct {
		rule     string
		state    sequencer.State
		verified int64
		send     []sequencer.Event
		want     protocol.Code
	}{
		{"the first epoch needs no verification", sequencer.State{}, 0, []sequencer.Event{event(1, 1)}, ""},
		{"the cursor's epoch needs no verification", stored(event(3, 1)), 0, []sequencer.Event{event(3, 2)}, ""},
		{"a later epoch needs verification", state, 0, []sequencer.Event{event(2, 1)}, protocol.CodeUnverified},
		{"an event in the middle of a later epoch", state, 0, []sequencer.Event{event(2, 7)}, protocol.CodeUnverified},
		{
			"an event of a later epoch behind others", state, 1,
			[]sequencer.Event{event(1, 3), event(2, 1)},
			protocol.CodeUnverified,
		},
		{"the host has begun it", state, 2, []sequencer.Event{event(2, 1)}, ""},
		{"the host has begun a later one", state, 5, []sequencer.Event{event(2, 1)}, ""},
		{"the host has begun an earlier one", state, 4, []sequencer.Event{event(5, 1)}, protocol.CodeUnverified},
		{
			"a known event at such a position", state, 0,
			[]sequencer.Event{sentAt("e1-2", "x", at(9, 1))},
			protocol.CodeConflict,
		},
	} {
		c.state.Verified = c.verified
		d := sequencer.Decide(c.state, c.send)
		if got := protocol.CodeOf(errorOf(d)); got != c.want || got != "" && len(d.Accepted) > 0 {
			t.Errorf("%s: %q", c.rule, got)
		}
	}
	moved := stored(sentAt("a", "a", at(1, 1)))
	moved.Verified = 0
	if d := sequencer.Decide(moved,
		[]sequencer.Event{sentAt("a", "a", at(2, 1))}); protocol.CodeOf(errorOf(d)) != protocol.CodeUnverified {
		t.Errorf("an event moves to an epoch that the host has not begun: %s", show(d))
	}
}

func errorOf(d sequencer.Decision) error {
	if d.Refusal == nil {
		return nil
	}
	return d.Refusal
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule         string
		page         sequencer.Page
		follows, end bool
	}{
		{"no events", sequencer.Page{Epoch: 2, Current: 2}, false, true},
		{"a host behind the broker", sequencer.Page{Epoch: 1, Current: 1, Events: 5}, false, true},
		{"the last page", sequencer.Page{Epoch: 2, Current: 2, Events: 5}, true, true},
		{"a full page", sequencer.Page{Epoch: 2, Current: 2, Events: 10}, true, false},
		{"the end of an epoch", sequencer.Page{Epoch: 2, Current: 3, Events: 5}, true, false},
	} {
		if got := c.page.Follows(at(2, 1)); got != c.follows {
			t.Errorf("%s: follows %t", c.rule, got)
		}
		if c.follows && c.page.Continues(at(2, 1), at(2, 9), 10) == c.end {
			t.Errorf("%s: ends %t", c.rule, !c.end)
		}
	}
	if (sequencer.Page{Epoch: 2, Current: 3, Events: 10}).Continues(at(2, 1), at(2, 1), 10) {
		t.Error("a pull that moves nothing goes on for ever")
	}
	if sequencer.Regressed(at(1, 2), at(1, 2)) || !sequencer.Regressed(at(1, 2), at(1, 3)) {
		t.Error("a receipt behind the cursor shows that the database went back")
	}
}

func TestContinues(t *testing.T) {
	t.Parallel()
	state := sequencer.State{Cursor: at(2, 1)}
	for _, c := range []struct {
		rule string
		send []sequencer.Event
		want bool
	}{
		{"the next events", []sequencer.Event{event(2, 2), event(2, 3)}, true},
		{"over the end of an epoch", []sequencer.Event{event(2, 2), event(3, 1)}, true},
		{"a duplicate", []sequencer.Event{event(2, 1)}, false},
		{"a gap", []sequencer.Event{event(2, 2), event(2, 4)}, false},
		{"an earlier epoch", []sequencer.Event{event(1, 2)}, false},
		{"no position", []sequencer.Event{basic("b")}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := state.Continues(c.send); got != c.want {
				t.Error(got)
			}
		})
	}
}

// In whatever order a host's requests arrive, repeat or get lost, the broker holds
// each event once, and of each epoch an initial part without gaps.
func TestEveryOrderOfDeliveriesLeavesNoHole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		state := sequencer.State{Verified: maxEpoch}
		for range rapid.IntRange(1, 40).Draw(r, "requests") {
			epoch := rapid.Int64Range(1, 3).Draw(r, "epoch")
			first := rapid.Int64Range(1, 8).Draw(r, "first")
			var events []sequencer.Event
			for seq := first; seq < first+rapid.Int64Range(1, 4).Draw(r, "events"); seq++ {
				events = append(events, event(epoch, seq))
			}
			d := sequencer.Decide(state, events)
			next := record(state, events, d)
			if next.Cursor.Less(state.Cursor) {
				r.Fatalf("the cursor went back from %s to %s", state.Cursor, next.Cursor)
			}
			if d.Refusal == nil && len(d.Accepted)+d.Duplicates != len(events) {
				r.Fatalf("%d events: %s", len(events), show(d))
			}
			if d.Refusal == nil && state.Continues(events) && d.Duplicates > 0 {
				r.Fatalf("%v continue at %s: %s", events, state.Cursor, show(d))
			}
			state = next
		}
		highest := map[int64]int64{}
		count := map[int64]int64{}
		for id, known := range state.Known {
			var epoch, seq int64
			if _, err := fmt.Sscanf(id, "e%d-%d", &epoch, &seq); err != nil {
				r.Fatal(err)
			}
			if !known.Late {
				highest[epoch] = max(highest[epoch], seq)
				count[epoch]++
			}
		}
		for epoch, top := range highest {
			if count[epoch] != top {
				r.Fatalf("%d of %d events of epoch %d: %v", count[epoch], top, epoch, slices.Sorted(maps.Keys(state.Known)))
			}
		}
	})
}
