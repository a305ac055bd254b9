package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// fakeJournal holds what the stream of a test reads; a failing one holds an error.
type fakeJournal struct {
	turns  []Turn
	events map[string][]Event
	err    error
}

func (j fakeJournal) TurnsFrom(_ context.Context, offset int64) ([]Turn, error) {
	for i, turn := range slices.Backward(j.turns) {
		if offset < 0 || turn.First <= offset {
			return j.turns[i:], j.err
		}
	}
	return nil, j.err
}

func (j fakeJournal) Events(_ context.Context, turnID string) ([]Event, error) {
	return j.events[turnID], j.err
}

func at(offset int64) protocol.StreamID { return protocol.StreamID{Epoch: 1, Offset: offset} }

// textEnd is the journaled event of a text, whose frame has the offset.
func textEnd(offset int64, text string) Event {
	return Event{
		ID: at(offset), Type: protocol.EventText,
		Part: fmt.Appendf(nil, `{"type":"text-end","id":"b%d"}`, offset),
		Body: fmt.Appendf(nil, `{"type":"text","text":%q}`, text),
	}
}

// fixture is a session with the finished turn "a" (frames 1 to 3) and the open turn "b"
// (frames 4 and 5). The window has lost the frames before first.
func fixture(first int64) (*Stream, fakeJournal, State) {
	s := New()
	s.ContinueAfter(at(0))
	fan := sse.NewFanout()
	s.BeginTurn(fan, 1)
	for offset := int64(1); offset <= 5; offset++ {
		if offset == 4 {
			s.EndTurn()
			s.BeginTurn(sse.NewFanout(), 4)
		}
		s.Publish(NewFrame(at(offset), fmt.Appendf(nil, `{"n":%d}`, offset), true))
	}
	s.window.dropBefore(first)
	open := Turn{ID: "b", First: 4, Open: true}
	journal := fakeJournal{
		turns:  []Turn{{ID: "a", First: 1, Last: at(3)}, open},
		events: map[string][]Event{"a": {textEnd(3, "hi")}, "b": {textEnd(5, "yo")}},
	}
	return &s, journal, State{Epoch: 1, Next: 6, Open: &open, Questions: []string{"q1"}}
}

// short writes a backlog as ids; a resume frame as its verdict and range, a frame
// without an id as the type of its part.
func short(t *testing.T, backlog [][]byte) string {
	t.Helper()
	var out []string
	for _, data := range backlog {
		f, err := sse.NewReader(strings.NewReader(string(data))).Next()
		if err != nil {
			t.Fatal(err)
		}
		var p protocol.Part
		if err := json.Unmarshal(f.Data, &p); err != nil {
			t.Fatal(err)
		}
		switch {
		case f.ID != "":
			out = append(out, f.ID)
		case p.Type == protocol.PartDataResume:
			var r protocol.Resume
			if err := json.Unmarshal(p.Data, &r); err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s[%s,%s]%v", r.Verdict, r.From, r.To, r.OpenInteractions))
		default:
			out = append(out, p.Type)
		}
	}
	return strings.Join(out, " ")
}

func TestBacklogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		first  int64 // of the window
		cursor string
		want   string
	}{
		{"no cursor: the open turn", 1, "", "1-4 1-5"},
		{"no cursor, the turn's begin is in the journal only", 6, "", "gap[1-5,1-5][q1] text-start text-delta 1-5"},
		{"a cursor in the window", 1, "1-2", "ok[1-3,1-5][q1] 1-3 1-4 1-5"},
		{"the newest frame", 1, "1-5", "ok[,1-5][q1]"},
		{"the place before the window", 3, "1-2", "ok[1-3,1-5][q1] 1-3 1-4 1-5"},
		{"before the window: its turn from the journal", 4, "1-1", "gap[1-3,1-5][q1] text-start text-delta 1-3 1-4 1-5"},
		{"a frame of the future", 1, "1-9", "gap[1-4,1-5][q1] 1-4 1-5"},
		{"another epoch", 1, "2-1", "gap[1-4,1-5][q1] 1-4 1-5"},
		{"no stream id", 1, "never", "gap[1-4,1-5][q1] 1-4 1-5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, journal, now := fixture(c.first)
			r, err := s.Attach(t.Context(), journal, now, c.cursor, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := short(t, r.Backlog); got != c.want || r.TurnID != "b" {
				t.Errorf("got  %q of turn %q\nwant %q", got, r.TurnID, c.want)
			}
			r.Close()
		})
	}
}

func TestAnIdleSessionHasNothingToWaitFor(t *testing.T) {
	t.Parallel()
	s, journal, now := fixture(1)
	s.EndTurn()
	now.Open = nil
	for _, cursor := range []string{"", "1-5"} {
		if r, err := s.Attach(t.Context(), journal, now, cursor, false); r != nil || err != nil {
			t.Errorf("at %q: %v, %v", cursor, r, err)
		}
	}
	r, err := s.Attach(t.Context(), journal, now, "1-5", true)
	if err != nil || short(t, r.Backlog) != "ok[,1-5][q1]" || r.Live == nil {
		t.Errorf("with follow: %v, %v", r, err)
	}
	r, err = s.Attach(t.Context(), journal, now, "1-4", false)
	if err != nil || short(t, r.Backlog) != "ok[1-5,1-5][q1] 1-5" || r.Live != nil {
		t.Errorf("a frame behind: %v, %v", r, err)
	}
}

func TestAReplayOfATurnEndsWithIt(t *testing.T) {
	t.Parallel()
	s, journal, now := fixture(1)
	r, err := s.Replay(t.Context(), journal, now, journal.turns[0])
	if err != nil || short(t, r.Backlog) != "1-1 1-2 1-3" || r.Live != nil || r.TurnID != "a" {
		t.Errorf("the finished turn: %+v, %v", r, err)
	}
	r, err = s.Replay(t.Context(), journal, now, journal.turns[1])
	if err != nil || short(t, r.Backlog) != "1-4 1-5" || r.Live == nil {
		t.Fatalf("the open turn: %+v, %v", r, err)
	}
	s.Publish(NewFrame(at(6), []byte(`{}`), true))
	s.EndTurn()
	if data, err := r.Live.Next(t.Context()); err != nil || short(t, [][]byte{data}) != "1-6" {
		t.Errorf("live: %q, %v", data, err)
	}
	if _, err := r.Live.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after its end: %v", err)
	}
}

func TestADroppedTextHasNoFrames(t *testing.T) {
	t.Parallel()
	s, journal, now := fixture(6)
	dropped := textEnd(5, "refused")
	dropped.Type = protocol.EventDropped
	journal.events["b"] = []Event{dropped}
	r, err := s.Attach(t.Context(), journal, now, "", false)
	if err != nil || len(r.Backlog) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestAJournalThatCannotBeReadFailsTheReader(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{"", "1-1", "never"} {
		s, journal, now := fixture(6)
		journal.err = errors.New("broken")
		if r, err := s.Attach(t.Context(), journal, now, cursor, true); !errors.Is(err, journal.err) {
			t.Errorf("at %q: %v, %v", cursor, r, err)
		}
		if r, err := s.Replay(t.Context(), journal, now, journal.turns[0]); !errors.Is(err, journal.err) {
			t.Errorf("replay: %v, %v", r, err)
		}
	}
}

func TestReadersOfASession(t *testing.T) {
	t.Parallel()
	s, journal, now := fixture(1)
	attach := func(follow bool) *sse.Subscription {
		r, err := s.Attach(t.Context(), journal, now, "", follow)
		if err != nil {
			t.Fatal(err)
		}
		return r.Live
	}
	ended := func(name string, subscription *sse.Subscription) {
		t.Helper()
		if !errors.Is(subscription.Err(), io.EOF) {
			t.Errorf("%s is not ended: %v", name, subscription.Err())
		}
	}
	turn, session := attach(false), attach(true)
	s.Cut()
	ended("a reader of the turn after Cut", turn)
	ended("a reader of the session after Cut", session)
	turn, session = attach(false), attach(true)
	s.Send(Encode("", []byte(`{"type":"data-notice"}`)))
	for _, reader := range []*sse.Subscription{turn, session} {
		if data, err := reader.Next(t.Context()); err != nil || short(t, [][]byte{data}) != "data-notice" {
			t.Errorf("sent: %q, %v", data, err)
		}
	}
	if s.Last() != at(5) {
		t.Errorf("a frame that was only sent is the last: %v", s.Last())
	}
	s.Forget()
	if s.Last() != at(5) {
		t.Errorf("after Forget the last is %v", s.Last())
	}
	s.EndTurn()
	ended("a reader of the turn after its end", turn)
	s.Close()
	ended("a reader of the session after Close", session)
}

// After a crash during a turn the newest frame is unknown.
func TestAnUnknownLastFrameHasNoExactCursor(t *testing.T) {
	t.Parallel()
	_, journal, now := fixture(1)
	s := New()
	s.ContinueAfter(protocol.StreamID{Epoch: -1, Offset: -1})
	r, err := s.Attach(t.Context(), journal, now, "1-5", true)
	if err != nil || short(t, r.Backlog) != "gap[1-5,][q1] text-start text-delta 1-5" {
		t.Errorf("%q, %v", short(t, r.Backlog), err)
	}
}
