//go:build full

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"bellhop/client"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

func TestTortureBySIGTERMWithOpenStreamsEndsThemAndExitsInTime(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task := s.task("shutdown")
		watchers, feeds := 60, 40
		if tortured {
			watchers, feeds = 700, 300
		}
		attached := make(chan struct{}, watchers+feeds)
		var readers sync.WaitGroup
		for range feeds {
			readers.Go(func() { s.feedUntilBye(task, attached) })
		}
		stream, err := s.user().Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "slow 3000"})
		if err != nil {
			t.Fatal(err)
		}
		ends := make(chan *client.End, watchers+1)
		begun := make(chan struct{})
		readers.Go(func() { ends <- endOf(t, stream, sync.OnceFunc(func() { close(begun) })) })
		<-begun
		for range watchers {
			readers.Go(func() {
				watched, err := s.user().Watch(t.Context(), task)
				if err != nil {
					t.Error(err)
					attached <- struct{}{}
					return
				}
				ends <- endOf(t, watched, sync.OnceFunc(func() { attached <- struct{}{} }))
			})
		}
		for range watchers + feeds {
			<-attached
		}
		s.host.stop()
		for range watchers + 1 {
			if end := <-ends; end == nil || end.Type != protocol.PartFinish || end.FinishReason != protocol.FinishOther ||
				end.Reason != protocol.ReasonHostRestarted {
				t.Fatalf("a stream ended with %+v", end)
			}
		}
		got := settle(t, s.user(), task)
		if got.LastTurn.Reason != protocol.ReasonHostRestarted {
			t.Errorf("the broker says the turn ended with %+v", got.LastTurn)
		}
		s.broker.stop()
		readers.Wait()
	})
}

// endOf reads a stream to its end; seen is called for every part.
func endOf(t testing.TB, stream *client.Stream, seen func()) *client.End {
	transcript := &client.Transcript{}
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Error(err)
			break
		}
		transcript.Apply(event)
		if event.Part != nil {
			seen()
		}
	}
	seen()
	return transcript.End
}

// feedUntilBye reads a task's feed, which must send bye before it ends.
func (s *stack) feedUntilBye(task string, attached chan<- struct{}) {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet,
		s.broker.url+"/api/tasks/"+task+"/events", http.NoBody)
	if err != nil {
		s.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Error(err)
		attached <- struct{}{}
		return
	}
	defer func() { _ = resp.Body.Close() }()
	reader, last, first := sse.NewReader(resp.Body), "", true
	for {
		frame, err := reader.Next()
		if first {
			attached <- struct{}{}
			first = false
		}
		if err != nil {
			break
		}
		last = frame.Event
	}
	if last != "bye" {
		s.t.Errorf("the feed ended with %q", strings.TrimSpace(last))
	}
}
