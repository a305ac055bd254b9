package agenthost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/journal"
	"bellhop/protocol"
)

// benchHost is a host that posts nowhere.
func benchHost(b *testing.B, j agenthost.Journal, p agenthost.Provider) *agenthost.Host {
	b.Helper()
	h, err := agenthost.New(agenthost.Options{
		Journal: j, Providers: map[string]agenthost.Provider{"fake": p},
		DefaultAgent: "fake", Workspaces: directories{b.TempDir()},
	})
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// BenchmarkEvents measures one durable event of one of n busy sessions, which share commits.
func BenchmarkEvents(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n, " sessions"), func(b *testing.B) {
			j, err := journal.Open(b.TempDir(), time.Now())
			if err != nil {
				b.Fatal(err)
			}
			agent := newFakeAgent()
			h := benchHost(b, j, agent)
			each := b.N/n + 1
			var wg sync.WaitGroup
			wg.Add(n)
			begin := make(chan struct{})
			agent.script(func(_ context.Context, out agenthost.Output) error {
				defer wg.Done()
				<-begin
				for i := range each {
					if err := out.ToolCall(agenthost.ToolCall{
						ID: fmt.Sprint(i), Name: "ls", Input: json.RawMessage(`{"path":"."}`),
					}); err != nil {
						return err
					}
				}
				return nil
			})
			for i := range n {
				startTurn(b, h, fmt.Sprint("s", i))
			}
			b.ResetTimer()
			close(begin)
			wg.Wait()
			b.StopTimer()
			end(b, h, j)
		})
	}
}

// BenchmarkStart measures the start of a host with 10 000 idle sessions.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	j, err := journal.Open(dir, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 10_000 {
		wg.Go(func() {
			id := fmt.Sprintf("session-%05d", i)
			at := protocol.Cursor{Epoch: 1, Seq: 1}
			err := j.Write(context.Background(), &agenthost.Write{
				SessionID: id,
				Session: &agenthost.SessionRecord{
					ID: id, Agent: "fake", Cursor: at, Acked: at, OffsetReserved: 4097,
					Status: protocol.StatusIdle, WebhookURL: "http://127.0.0.1:1/",
				},
				Turns: []agenthost.TurnRecord{
					{
						SessionID: id, ID: "t", State: agenthost.TurnFinished, Started: time.Now(),
						FirstOffset: 1, LastID: protocol.StreamID{Epoch: 1, Offset: 9},
					},
				},
				Events: []agenthost.EventRecord{{SessionID: id, Cursor: at, EventID: id, Body: json.RawMessage(`{}`)}},
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		j, err := journal.Open(dir, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		end(b, benchHost(b, j, newFakeAgent()), j)
	}
}

// end stops the host: Run with an ended context does nothing else.
func end(b *testing.B, h *agenthost.Host, j *journal.Journal) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Run(ctx); err != nil {
		b.Error(err)
	}
	if err := j.Close(); err != nil {
		b.Error(err)
	}
}

// BenchmarkTextDelta measures one text delta of an open turn that a reader follows: it is
// masked, becomes a frame of the window and is published, without a write.
func BenchmarkTextDelta(b *testing.B) {
	j, err := journal.Open(b.TempDir(), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	agent := newFakeAgent()
	h := benchHost(b, j, agent)
	begin, done := make(chan struct{}), make(chan struct{})
	agent.script(func(_ context.Context, out agenthost.Output) error {
		defer close(done)
		<-begin
		for range b.N {
			if err := out.Text("a word or two "); err != nil {
				return err
			}
		}
		return nil
	})
	stream := startTurn(b, h, "s")
	defer stream.Close()
	b.ReportAllocs()
	b.ResetTimer()
	close(begin)
	<-done
	b.StopTimer()
	end(b, h, j)
}

// startTurn opens a session of one turn and starts the turn.
func startTurn(b *testing.B, h *agenthost.Host, id string) *agenthost.Stream {
	b.Helper()
	_, err := h.Open(b.Context(),
		&protocol.OpenSessionRequest{
			SessionID: id, WebhookURL: "http://127.0.0.1:1/", Cursor: &protocol.Cursor{},
			Turn: &protocol.AnnouncedTurn{ID: "t"},
		}, agenthost.Keys{})
	if err != nil {
		b.Fatal(err)
	}
	stream, err := h.Start(b.Context(), agenthost.Grant{SessionID: id, TurnID: "t"}, &protocol.PromptRequest{Prompt: "go"})
	if err != nil {
		b.Fatal(err)
	}
	return stream
}
