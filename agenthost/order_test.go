package agenthost_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// watchedJournal looks around just before anything is written down, and refuses
// to write on demand.
type watchedJournal struct {
	agenthost.Journal
	before func(w *agenthost.Write) error
}

func (j *watchedJournal) Write(ctx context.Context, w *agenthost.Write) error {
	if err := j.before(w); err != nil {
		return err
	}
	return j.Journal.Write(ctx, w)
}

// witness has two readers of a session and its broker, and knows what they know.
type witness struct {
	mu      sync.Mutex
	streams []*agenthost.Stream
	seen    strings.Builder
}

// saw reports whether any reader has got an event. It does not wait.
func (w *witness) saw(eventID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range w.streams {
		for _, data := range s.Backlog {
			w.seen.Write(data)
		}
		s.Backlog = nil
		for {
			batch, err := s.Live.NextBatch(over, nil)
			for _, data := range batch {
				w.seen.Write(data)
			}
			if err != nil {
				break
			}
		}
	}
	return strings.Contains(w.seen.String(), eventID)
}

func (r *rig) posted(session, eventID string) bool {
	for _, e := range r.broker.of(session) {
		if e.EventID == eventID {
			return true
		}
	}
	return false
}

// Journal before announce: no reader and no broker gets an event that is not
// on the disk, and what could not be written is never announced.
func TestNothingIsAnnouncedBeforeItIsJournaled(t *testing.T) {
	t.Parallel()
	full := &protocol.Error{Code: protocol.CodeStorageFull, Message: "full"}
	for _, c := range []struct {
		name   string
		refuse protocol.EventType
		end    string
	}{
		{"a whole turn", "", "finish"},
		{"a text that cannot be written", protocol.EventText, "error"},
		{"a call that cannot be written", protocol.EventToolCall, "error"},
		{"a result that cannot be written", protocol.EventToolResult, "error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, readers := newRig(t), &witness{}
			var mu sync.Mutex
			var journaled, refused []string
			r.options = func(o *agenthost.Options) {
				o.Journal = &watchedJournal{o.Journal, func(w *agenthost.Write) error {
					mu.Lock()
					defer mu.Unlock()
					for _, e := range w.Events {
						if readers.saw(e.EventID) || r.posted(w.SessionID, e.EventID) {
							t.Errorf("a %s is known before it is journaled", e.Type)
						}
					}
					for _, e := range w.Events {
						if e.Type == c.refuse && len(refused) == 0 {
							refused = append(refused, e.EventID)
							return full
						}
						journaled = append(journaled, e.EventID)
					}
					return nil
				}}
			}
			r.start()
			gate := make(chan struct{})
			r.agent.script(wait(gate), writeText("a"), endText(""), callTool("c1", "ls", `{}`),
				toolResult("c1", `[]`), writeText("b"))
			grant := r.announce("s1", "t1")
			follow := r.attach("s1", "", true)
			stream := r.startGrant(grant)
			readers.mu.Lock()
			readers.streams = []*agenthost.Stream{stream, follow}
			readers.mu.Unlock()
			last := r.attach("s1", "", false)
			close(gate)
			frames := r.read(last)
			if got := frames[len(frames)-1].part.Type; got != c.end {
				t.Errorf("the turn ended in %s", got)
			}
			r.delivered()
			mu.Lock()
			defer mu.Unlock()
			if (len(refused) > 0) != (c.refuse != "") || len(journaled) < 3 {
				t.Errorf("%d events journaled, %d refused", len(journaled), len(refused))
			}
			for _, id := range refused {
				if readers.saw(id) || r.posted("s1", id) {
					t.Error("an event that is in no journal was announced")
				}
			}
			stream.Close()
			follow.Close()
		})
	}
}

// An id that a reader has seen names that frame for ever, the end that a restart
// gives to the turn included.
func TestNoIDNamesTwoFramesAcrossACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	named := map[string]string{}
	note := func(frames []frame) {
		t.Helper()
		for _, f := range frames {
			if old, known := named[f.id]; f.id != "" && known && old != f.json {
				t.Errorf("id %s was %s and is %s", f.id, old, f.json)
			}
			named[f.id] = f.json
		}
	}
	for i, pieces := range []int{2, 2, 5000, 2} { // a block is 4096
		reached := make(chan struct{})
		script := append(slices.Repeat([]step{writeText("x")}, pieces), func(context.Context, agenthost.Output) error {
			close(reached)
			return nil
		}, forever)
		r.startNew("s1", fmt.Sprint("t", i), script...).Close()
		<-reached
		stream := r.attach("s1", "", false)
		note(r.readN(stream, 1+pieces))
		stream.Close()
		data := r.crash()
		r.open(data)
		r.run()
		ended := r.read(r.attach("s1", "unknown", false))
		if last := ended[len(ended)-1]; last.id == "" || last.part.Type != "finish" {
			t.Errorf("the turn's end is %q %s", last.id, last.json)
		}
		note(ended)
	}
}
