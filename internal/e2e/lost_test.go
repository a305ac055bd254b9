//go:build full

package e2e

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bellhop/protocol"
)

// copyFiles replaces files by copies from another folder, as an operator restores a backup.
func copyFiles(t testing.TB, from, to string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(to, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		in, err := os.Open(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stack) epochOf(task string) (at protocol.Cursor) {
	s.t.Helper()
	s.query(`SELECT epoch, seq FROM tasks WHERE id = '`+task+`'`, func(r *sql.Rows) error {
		return r.Scan(&at.Epoch, &at.Seq)
	})
	return at
}

func TestAHostThatLostItsDiskContinuesUnderAHigherEpoch(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task := s.task("disk")
		first, _ := s.recorded(t, task, "slow 4")
		s.arrived(task)

		// It dies within a turn, whose events are lost with the disk.
		stream, err := s.user().Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "slow 3000"})
		if err != nil {
			t.Fatal(err)
		}
		for event, err := range stream.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if event.Part != nil {
				break
			}
		}
		eventually(t, "the broker knows of the turn", func() bool {
			got, err := s.user().Task(t.Context(), task)
			return err == nil && got.OpenTurn != nil && *got.OpenTurn == stream.TurnID
		})
		s.host.kill()
		if err := os.RemoveAll(s.hostData()); err != nil {
			t.Fatal(err)
		}
		s.host.start()

		second, _ := s.recorded(t, task, "slow 5")
		if got, want := stored(t, s.user(), task), slices.Concat(first.Texts, second.Texts); !slices.Equal(got, want) {
			t.Errorf("stored are %q, streamed was %q", got, want)
		}
		if at := s.epochOf(task); at.Epoch != 2 {
			t.Errorf("the task is at %v, want epoch 2", at)
		}
		eventually(t, "the lost turn is closed", func() bool { return s.endOf(task, stream.TurnID) == "other host-lost" })
		s.sameIDsSameBytes(task, first, second)
	})
}

// endOf returns the end of a turn as the broker recorded it.
func (s *stack) endOf(task, turn string) (end string) {
	s.t.Helper()
	s.query(
		`SELECT finish_reason, reason FROM turns WHERE task_id = '`+task+`' AND id = '`+turn+`'`, func(r *sql.Rows) error {
			var finish, reason string
			err := r.Scan(&finish, &reason)
			end = finish + " " + reason
			return err
		})
	return end
}

// sameIDsSameBytes compares readings whose events are no longer all in a journal.
func (s *stack) sameIDsSameBytes(task string, readings ...reading) {
	s.t.Helper()
	c := &checker{sessionHistory: &sessionHistory{ID: task, Readings: readings}}
	c.collect()
	for _, v := range c.found {
		s.t.Error(v)
	}
}

func TestABrokerRestoredFromAnOlderCopyGetsEveryEventAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("older broker")
	backup := filepath.Join(s.dir, "backup")
	h := &sessionHistory{ID: task}
	turn := func(message string) {
		t.Helper()
		r, m := s.recorded(t, task, message)
		h.Readings, h.Sent = append(h.Readings, r), append(h.Sent, m)
		s.arrived(task)
	}

	turn("slow 4")
	s.broker.stop()
	copyFiles(t, s.dir, backup, database("broker.db")...)
	s.broker.start()
	turn("list")
	s.broker.stop()
	copyFiles(t, backup, s.dir, database("broker.db")...)
	s.broker.start()
	turn("slow 6")

	lost := h.Sent[1]
	eventually(t, "the user's message comes back from the host's prompt", func() bool {
		return slices.ContainsFunc(historyOf(t, s.user(), task), func(m protocol.Message) bool {
			return m.ID == lost.MessageID
		})
	})
	got := collect(s, []string{task})
	got.Sessions[0].Sent, got.Sessions[0].Readings = h.Sent, h.Readings
	for _, v := range check(got) {
		t.Error(v)
	}
	if !slices.ContainsFunc(got.Sessions[0].Messages, func(m protocol.Message) bool {
		return m.Role == protocol.RoleAssistant && m.TurnID == lost.TurnID
	}) {
		t.Error("the turn after the backup was not sent again")
	}
}

func TestAHostRestoredFromAnOlderCopyContinuesUnderAHigherEpoch(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task := s.task("older host")
		backup := filepath.Join(s.dir, "backup")
		var transcript []string
		var readings []reading
		turn := func(message string) {
			t.Helper()
			r, _ := s.recorded(t, task, message)
			transcript, readings = append(transcript, r.Texts...), append(readings, r)
			s.arrived(task)
		}

		turn("slow 4")
		s.host.stop()
		copyFiles(t, s.hostData(), backup, database("journal.db")...)
		s.host.start()
		turn("slow 5")
		s.host.stop()
		copyFiles(t, backup, s.hostData(), database("journal.db")...)
		s.host.start()
		turn("slow 6")

		if got := stored(t, s.user(), task); !slices.Equal(got, transcript) {
			t.Errorf("stored are %q, streamed was %q", got, transcript)
		}
		if at := s.epochOf(task); at.Epoch != 2 {
			t.Errorf("the task is at %v, want epoch 2", at)
		}
		s.sameIDsSameBytes(task, readings...)
	})
}
