//go:build full

package e2e

import (
	"slices"
	"testing"

	"bellhop/client"
	"bellhop/internal/testenv/faultproxy"
	"bellhop/protocol"
)

func TestAReplayCutAnywhereIsDeliveredCompletely(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task, c := s.task("replay"), s.user()
	const prompt = "list then slow 4"
	in, err := c.CheckIn(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: prompt})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *client.Stream {
		stream, err := c.Open(in, &protocol.PromptRequest{Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	want := toEnd(t, open(), nil)
	s.host.kill() // from here on the turn is replayed from the journal
	s.host.start()

	for cut := int64(0); cut < 2400; cut += 90 {
		s.toStream.Set(faultproxy.CutAnswerAfter(cut))
		got := &client.Transcript{}
		for event, err := range open().Events(t.Context()) {
			if err != nil {
				t.Errorf("cut after %d bytes: %v", cut, err)
				break
			}
			got.Apply(event)
			if event.Lost != nil {
				s.toStream.Set(pass)
			}
		}
		if got.End == nil || !slices.Equal(textsIn(got), textsIn(want)) || len(got.Blocks) != len(want.Blocks) {
			t.Errorf("cut after %d bytes: got %q, the turn is %q", cut, textsIn(got), textsIn(want))
		}
	}
}
