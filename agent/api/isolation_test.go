package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// TestClientsSeeOnlyTheirOwnSession runs several sessions, each with clients that connect and
// disconnect, and checks that no client receives a line of another session.
func TestClientsSeeOnlyTheirOwnSession(t *testing.T) {
	t.Parallel()
	const sessions, clients, turns = 8, 3, 4
	s := start(t, Config{})
	var group sync.WaitGroup
	for n := range sessions {
		session := s.open("", "")
		var all []*client
		for range clients {
			all = append(all, s.dial(session, ""))
		}
		guest := s.dial(session, "&replay=all")
		group.Go(func() {
			mine := fmt.Sprintf("canary-%d.", n)
			for turn := range turns {
				driver := all[turn%clients]
				driver.input(fmt.Sprintf("write f%d.txt: %s then read f%d.txt", turn, mine, turn))
				for _, c := range all {
					question := c.until(protocol.LineConfirm)
					if c == driver {
						c.confirm(question.RequestID, true)
					}
				}
				for _, c := range all {
					if line := c.until(protocol.LineState); line.Reason != protocol.WaitingDone {
						t.Errorf("session %d: %+v", n, line)
					}
				}
				guest.until(protocol.LineState)
			}
			for _, c := range append(all, guest) {
				for _, line := range c.seen {
					raw := fmt.Sprintf("%+v %s %s", line, line.Args, line.Arguments)
					if line.Content != nil {
						raw += *line.Content
					}
					if line.SessionID != session.SessionID || strings.Count(raw, "canary-") != strings.Count(raw, mine) {
						t.Errorf("session %d was shown %s", n, raw)
					}
				}
			}
			_, history := s.call("GET", "/sessions/"+session.SessionID+"/history", session.Token, "")
			if got, own := strings.Count(history, "canary-"), strings.Count(history, mine); got != own || own < turns {
				t.Errorf("session %d's history names %d canaries, %d its own", n, got, own)
			}
		})
	}
	group.Wait()
	if _, list := s.call("GET", "/sessions", s.owner(), ""); strings.Contains(list, "canary-") {
		t.Errorf("the listing shows a session's work: %s", list)
	}
}

func TestAnAnswerToAnotherSessionsQuestionIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	a, b := s.open("", ""), s.open("", "")
	inA, inB := s.dial(a, ""), s.dial(b, "")
	inA.input("write a.txt: x")
	question := inA.until(protocol.LineConfirm)
	inB.confirm(question.RequestID, true)
	if line := inB.until(protocol.LineStatus); line.Level != "error" || line.SessionID != b.SessionID {
		t.Errorf("got %+v", line)
	}
	inB.send(fmt.Sprintf(`{"type":"confirmation","session_id":%q,"request_id":%q,"value":true}`,
		a.SessionID, question.RequestID))
	if line := inB.until(protocol.LineStatus); !strings.HasPrefix(line.Message, "This is not session") {
		t.Errorf("got %+v", line)
	}
	inA.confirm(question.RequestID, false)
	inA.until(protocol.LineState)
	for _, line := range inA.seen {
		if line.Type == protocol.LineStatus {
			t.Errorf("the other client received %+v", line)
		}
	}
}

func TestAThousandInterruptsOverAWebSocket(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	session := s.open("", "")
	c, watcher := s.dial(session, ""), s.dial(session, "")
	for range 3 {
		c.input("slow 36000")
		c.until(protocol.LineChunk)
		for range 1000 {
			c.send(`{"type":"interrupt"}`)
		}
		if line := c.until(protocol.LineState); line.Reason != protocol.WaitingInterrupted {
			t.Errorf("ended with %+v", line)
		}
	}
	c.leave()
	turns := 0
	for turns < 3 {
		if line := watcher.until(protocol.LineState); line.Reason != protocol.WaitingInterrupted {
			t.Errorf("the other client saw %+v", line)
		}
		turns++
	}
	watcher.leave()
	// Interrupts after the end of a turn have no effect.
	next := s.dial(session, "")
	next.input("help")
	if line := next.until(protocol.LineState); line.Reason != protocol.WaitingDone {
		t.Errorf("the next turn: %+v", line)
	}
	if err := next.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("close: %v", err)
	}
}
