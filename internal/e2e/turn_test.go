package e2e

import (
	"slices"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// turnOf sends a message and reads its turn to the end.
func turnOf(t testing.TB, c *client.Client, task, message string) *client.Transcript {
	t.Helper()
	return toEnd(t, send(t, c, task, message), nil)
}

// send checks a message in and returns the stream of its turn.
func send(t testing.TB, c *client.Client, task, message string) *client.Stream {
	t.Helper()
	stream, err := c.Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// toEnd reads a stream to its end. It calls seen after each event, with the transcript so far;
// seen may be nil.
func toEnd(t testing.TB, stream *client.Stream, seen func(client.Event, *client.Transcript)) *client.Transcript {
	t.Helper()
	transcript := &client.Transcript{}
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		transcript.Apply(event)
		if seen != nil {
			seen(event, transcript)
		}
	}
	return transcript
}

func isPart(event client.Event, kind protocol.PartType) bool {
	return event.Part != nil && event.Part.Type == kind
}

// historyOf returns a task's messages after the turn has arrived at the broker.
func historyOf(t testing.TB, c *client.Client, task string) []protocol.Message {
	t.Helper()
	settle(t, c, task)
	var messages []protocol.Message
	for m, err := range c.History(t.Context(), task) {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	return messages
}

// messagesOf returns the first page of a task's messages.
func messagesOf(t testing.TB, c *client.Client, task string) []protocol.Message {
	t.Helper()
	page, err := c.Messages(t.Context(), task, client.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// settle waits until the broker has no open turn of the task.
func settle(t testing.TB, c *client.Client, task string) *protocol.Task {
	t.Helper()
	var last *protocol.Task
	eventually(t, "the task's turn ends at the broker", func() bool {
		got, err := c.Task(t.Context(), task)
		if err != nil {
			return false
		}
		last = got
		return got.OpenTurn == nil && got.LastTurn != nil
	})
	return last
}

func TestATurnIsStreamedByTheHostAndPersistedByTheWebhook(t *testing.T) {
	bothStores(t, func(t *testing.T, kind storeKind) {
		dir := t.TempDir()
		s := layOut(t, dir, kind, emptyDatabase(t, dir, kind))
		s.installByCommands()
		s.host.start()
		s.broker.start()
		task := s.task("tour")
		transcript := turnOf(t, s.user(), task, "list")
		if transcript.End == nil || transcript.End.FinishReason != protocol.FinishStop {
			t.Fatalf("the turn ended with %+v", transcript.End)
		}
		rows := historyOf(t, s.user(), task)
		if rows[0].Role != protocol.RoleUser || rows[0].Message != "list" || rows[0].Status != protocol.MessageSent {
			t.Errorf("the first row is %+v", rows[0])
		}
		var texts []string
		for _, m := range rows[1:] {
			if m.Message != "" {
				texts = append(texts, m.Message)
			}
		}
		if got, want := strings.Join(texts, "\n\n"), transcript.Text(); got != want {
			t.Errorf("stored %q, streamed %q", got, want)
		}
		if !slices.ContainsFunc(rows, func(m protocol.Message) bool {
			return len(m.Artifacts) == 1 && m.Artifacts[0].Type == protocol.ArtifactToolUse
		}) {
			t.Error("no TOOL_USE row")
		}
		s.host.stop()
		s.broker.stop()
	})
}
