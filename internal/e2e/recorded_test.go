package e2e

import (
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// recorded runs a turn whose stream is recorded for the checker.
func (s *stack) recorded(t testing.TB, task, message string) (reading, sent) {
	t.Helper()
	r := &recorder{}
	c := client.New(s.api, patient(s.token, r))
	req := &protocol.CheckInRequest{TaskID: task, Message: message, MessageID: protocol.NewID()}
	stream, err := c.Send(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	transcript := toEnd(t, stream, nil)
	return reading{Name: message, Turn: stream.TurnID, Conns: r.connections(), Ended: true, Texts: textsIn(transcript)},
		sent{MessageID: req.MessageID, TurnID: stream.TurnID, Text: message}
}

func textsIn(transcript *client.Transcript) (texts []string) {
	for _, b := range transcript.Blocks {
		if b.Kind == client.BlockText && b.Done {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// stored returns the assistant's texts of a task, in order.
func stored(t testing.TB, c *client.Client, task string) (texts []string) {
	t.Helper()
	for _, m := range historyOf(t, c, task) {
		if m.Role == protocol.RoleAssistant && m.Message != "" {
			texts = append(texts, m.Message)
		}
	}
	return texts
}

// arrived waits until all events of the tasks have arrived.
func (s *stack) arrived(tasks ...string) {
	s.t.Helper()
	eventually(s.t, "everything has arrived", func() bool { return s.quiescent(tasks) })
}
