//go:build full

package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// The copy was taken after the host died within a turn. When the restored host starts, it ends
// that turn again, at a position where the broker has other events.
func TestAHostRestoredFromACopyWithinATurnDivergesAndContinues(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task, backup := s.task("diverged"), filepath.Join(s.dir, "backup")
		stream := send(t, s.user(), task, "list then slow 3000")
		transcript := toEnd(t, stream, func(event client.Event, _ *client.Transcript) {
			if isPart(event, protocol.PartToolResult) {
				s.host.kill()
				copyFiles(t, s.hostData(), backup, database("journal.db")...)
				s.host.start()
			}
		})
		want := textsIn(transcript)
		for _, message := range []string{"slow 4", "slow 5"} {
			r, _ := s.recorded(t, task, message)
			want = append(want, r.Texts...)
			s.arrived(task)
		}
		before := s.endOf(task, stream.TurnID)

		s.host.kill()
		copyFiles(t, backup, s.hostData(), database("journal.db")...)
		s.host.start()
		s.arrived(task)
		last, _ := s.recorded(t, task, "slow 6")
		want = append(want, last.Texts...)
		s.arrived(task)

		if got := stored(t, s.user(), task); !slices.Equal(got, want) {
			t.Errorf("stored are %q, streamed was %q", got, want)
		}
		if at := s.epochOf(task); at.Epoch != 2 {
			t.Errorf("the task is at %v, want epoch 2", at)
		}
		if after := s.endOf(task, stream.TurnID); after != before || before != "other host-restarted" {
			t.Errorf("the first turn ended with %q, then with %q", before, after)
		}
	})
}
