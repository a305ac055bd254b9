//go:build full

package e2e

import (
	"net/http/httptest"
	"slices"
	"testing"

	"bellhop/client"
	"bellhop/internal/testenv/basic"
	"bellhop/protocol"
)

// queueMessage queues a message whose id is its text.
func queueMessage(t testing.TB, c *client.Client, task, text string) {
	t.Helper()
	if _, err := c.QueueMessage(t.Context(), task,
		&protocol.QueueMessageRequest{Message: text, MessageID: text}); err != nil {
		t.Fatal(err)
	}
}

// finishes returns the turns that the host has finished and why, by the events in its journal.
func (s *stack) finishes(task string) (turns []string) {
	s.t.Helper()
	var page protocol.EventsResponse
	s.askHost("GET", "/session/"+task+"/events?limit=500", &page)
	for _, raw := range page.Events {
		if event, err := protocol.ParseEvent(raw); err != nil {
			s.t.Error(err)
		} else if event.Type == protocol.EventFinish {
			turns = append(turns, event.TurnID+" "+event.Reason)
		}
	}
	return turns
}

func userTexts(t testing.TB, c *client.Client, task string) (texts []string) {
	t.Helper()
	for _, m := range messagesOf(t, c, task) {
		if m.Role == protocol.RoleUser {
			texts = append(texts, m.Message+" "+string(m.Status))
		}
	}
	return texts
}

// isIdle reports whether a task has no queued message and no open turn.
func isIdle(t testing.TB, c *client.Client, task string, lastTurns int) func() bool {
	return func() bool {
		found, err := c.Task(t.Context(), task)
		return err == nil && found.Queue == nil && found.OpenTurn == nil && len(userTexts(t, c, task)) == lastTurns &&
			found.LastTurn != nil && found.LastTurn.ID == lastTurnOf(t, c, task)
	}
}

// lastTurnOf returns the turn of the user's newest message.
func lastTurnOf(t testing.TB, c *client.Client, task string) (turn string) {
	t.Helper()
	for _, m := range messagesOf(t, c, task) {
		if m.Role == protocol.RoleUser {
			turn = m.TurnID
		}
	}
	return turn
}

func TestQueuedMessagesRunWithoutAPage(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task, user := s.task("queue"), s.user()
		for _, text := range []string{"slow 2", "slow 3", "slow 4"} {
			queueMessage(t, user, task, text)
		}
		eventually(t, "all turns have ended", isIdle(t, user, task, 3))
		if got, want := userTexts(t, user, task), []string{"slow 2 SENT", "slow 3 SENT", "slow 4 SENT"}; !slices.Equal(got,
			want) {
			t.Errorf("the messages are %q, want %q", got, want)
		}
		if n := len(s.finishes(task)); n != 3 {
			t.Errorf("the host ran %d turns", n)
		}
	})
}

func TestQueuedMessagesOfABasicServerRunWithoutAPage(t *testing.T) {
	t.Parallel()
	host := &basic.Host{Password: hostPassword, Client: direct}
	server := httptest.NewServer(host)
	t.Cleanup(server.Close)
	b := loneBroker(t)
	task := b.task(t, server.URL, "")
	queueMessage(t, b.client(), task, "first")
	queueMessage(t, b.client(), task, "second")
	eventually(t, "both turns have ended", isIdle(t, b.client(), task, 2))
	want := []string{
		"USER first", "ASSISTANT Let me look.", "TOOL done", "ASSISTANT You said: first",
		"USER second", "ASSISTANT Let me look.", "TOOL done", "ASSISTANT You said: second",
	}
	if got := shown(t, messagesOf(t, b.client(), task)); !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
	found, err := b.client().Task(t.Context(), task)
	if err != nil || found.LastTurn.FinishReason != protocol.FinishStop || found.LastTurn.Reason != "" {
		t.Errorf("the last turn is %+v, %v: the end of its stream was not read", found.LastTurn, err)
	}
}

func TestAKilledBrokerStartsAQueuedMessageOnce(t *testing.T) {
	t.Parallel()
	for _, point := range queuePoints {
		t.Run(point, func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) {
				s := prepareStack(t, kind)
				s.host.start()
				s.broker.start(dieAt(point, 1))
				task, user := s.task("queue"), s.user()
				in := &protocol.QueueMessageRequest{Message: "slow 2", MessageID: "one"}
				lost := make(chan struct{})
				go func() { // the answer may be lost with the broker; the message is stored
					defer close(lost)
					_, _ = user.QueueMessage(t.Context(), task, in)
				}()
				if !s.broker.dead(startLimit) {
					t.Fatal("the fail point was not met")
				}
				s.broker.start()
				<-lost
				queueMessage(t, user, task, "slow 3")
				eventually(t, "both turns have ended", isIdle(t, user, task, 2))
				if got, want := userTexts(t, user, task), []string{"slow 2 SENT", "slow 3 SENT"}; !slices.Equal(got, want) {
					t.Errorf("the messages are %q, want %q", got, want)
				}
				if got := s.finishes(task); len(got) != 2 {
					t.Errorf("the host ran the turns %q, want 2", got)
				}
			})
		})
	}
}

// The host dies when it has the prompt. Its turn ends as failed, is not repeated, and the queue waits.
func TestAKilledHostPausesTheQueue(t *testing.T) {
	t.Parallel()
	s := prepareStack(t, sqlite)
	s.host.start(dieAt("turn-started", 1))
	s.broker.start()
	task, user := s.task("queue"), s.user()
	queueMessage(t, user, task, "slow 2")
	queueMessage(t, user, task, "slow 3")
	if !s.host.dead(startLimit) {
		t.Fatal("the fail point was not met")
	}
	s.host.start()
	eventually(t, "the queue is paused", func() bool {
		found, err := user.Task(t.Context(), task)
		return err == nil && found.Queue != nil && found.Queue.Paused == protocol.PauseFailed
	})
	if _, err := user.PauseQueue(t.Context(), task, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second turn has ended", isIdle(t, user, task, 2))
	if got, want := userTexts(t, user, task), []string{"slow 2 SENT", "slow 3 SENT"}; !slices.Equal(got, want) {
		t.Errorf("the messages are %q, want %q", got, want)
	}
	if got := s.finishes(task); len(got) != 2 {
		t.Errorf("the host ran the turns %q, want 2", got)
	}
}
