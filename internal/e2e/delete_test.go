//go:build full

package e2e

import (
	"database/sql"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// The agent works while the broker cannot reach its host, and the broker restarts. When the
// host can be reached again, the session of the deleted task ends.
func TestASessionEndsThoughItsHostWasAwayAtTheDeletion(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		c := s.user()
		task := s.task("away")
		stream, err := c.Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "slow 600000"})
		if err != nil {
			t.Fatal(err)
		}
		began(t, stream)
		s.toHost.Set(refuse)
		if _, err := c.DeleteTask(t.Context(), task, ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.sessionsOfHost(), task) {
			t.Error("the session ended while the broker could not reach its host")
		}
		s.broker.kill()
		if n := s.owedEnds(); n != 1 {
			t.Errorf("%d ends are owed", n)
		}
		s.broker.start()
		s.toHost.Set(pass)
		eventually(t, "the host ends the session", func() bool { return !strings.Contains(s.sessionsOfHost(), task) })
		eventually(t, "nothing is owed", func() bool { return s.owedEnds() == 0 })
	})
}

// began reads a stream until the agent works.
func began(t *testing.T, stream *client.Stream) {
	t.Helper()
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Part != nil && event.Part.Type == protocol.PartTextStart {
			return
		}
	}
	t.Fatal("the stream ended before the agent worked")
}

func (s *stack) owedEnds() (n int) {
	rows(s.t, s.openDB(), `SELECT count(*) FROM session_ends`, func(r *sql.Rows) error { return r.Scan(&n) })
	return n
}
