//go:build full

package e2e

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// The user confirms what the deletion loses, and then the host cannot be reached until the broker has restarted. It removes
// the workspace that is as it was shown, and keeps the one that has changed.
func TestAConfirmationReachesAHostThatWasAway(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		c := s.user()
		dirs := map[string]string{}
		write := func(task, name string) {
			if err := os.WriteFile(filepath.Join(dirs[task], name), []byte("only here"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		same, changed := s.task("same"), s.task("changed")
		shown := map[string]string{}
		for _, task := range []string{same, changed} {
			s.recorded(t, task, "list")
			s.arrived(task)
			dirs[task] = filepath.Join(s.hostData(), "workspaces", task)
			write(task, "plan.txt")
			list, err := c.OnlyCopies(t.Context(), task)
			if err != nil || list.ID == "" || len(list.Items) != 1 || list.Items[0].Name != "plan.txt" {
				t.Fatalf("%+v, %v", list, err)
			}
			shown[task] = list.ID
		}
		s.toHost.Set(refuse)
		for _, task := range []string{same, changed} {
			if kept, err := c.DeleteTask(t.Context(), task, shown[task]); err != nil || kept != nil {
				t.Fatalf("kept %+v, %v", kept, err)
			}
		}
		write(changed, "later.txt")
		s.broker.kill()
		s.broker.start()
		s.toHost.Set(pass)
		eventually(t, "nothing is owed", func() bool { return s.owedEnds() == 0 })
		if _, err := os.Stat(dirs[same]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the workspace that was confirmed: %v", err)
		}
		for _, name := range []string{"plan.txt", "later.txt"} {
			if _, err := os.Stat(filepath.Join(dirs[changed], name)); err != nil {
				t.Errorf("the workspace that has changed: %v", err)
			}
		}
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
	s.query(`SELECT count(*) FROM session_ends`, func(r *sql.Rows) error { return r.Scan(&n) })
	return n
}
