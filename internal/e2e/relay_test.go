//go:build full

package e2e

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/internal/testenv/faultproxy"
	"bellhop/protocol"
)

// A relayed stream that is cut between broker and host breaks off and continues after the last
// frame that arrived.
func TestARelayedStreamThatIsCutResumesExactly(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	s.toStream.Set(refuse) // no browser reaches this host
	task := s.task("relayed")
	rec := &recorder{}
	req := &protocol.CheckInRequest{
		TaskID: task, Message: "slow 20 then list then slow 10", MessageID: protocol.NewID(), Reach: protocol.ReachRelay,
	}
	stream, err := client.New(s.api, patient(s.token, rec)).Send(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	faults := []faultproxy.Mode{
		faultproxy.Reset(), faultproxy.CutAnswerAfter(0), faultproxy.CutAnswerAfter(150),
		faultproxy.Refuse(), faultproxy.CutAnswerAfter(1),
	}
	transcript, parts := &client.Transcript{}, 0
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		transcript.Apply(event)
		if event.Reset {
			t.Error("a cut amid a turn is no gap")
		}
		if event.Part == nil {
			continue
		}
		if parts++; parts%5 == 0 && len(faults) > 0 {
			s.toHost.Set(faults[0])
			time.AfterFunc(200*time.Millisecond, func() { s.toHost.Set(pass) })
			faults = faults[1:]
		}
	}
	s.arrived(task)
	h := collect(s, []string{task})
	h.Sessions[0].Sent = []sent{{MessageID: req.MessageID, TurnID: stream.TurnID, Text: req.Message}}
	conns := rec.connections()
	h.Sessions[0].Readings = []reading{
		{Name: "starter", Turn: stream.TurnID, Conns: conns, Ended: true, Texts: textsIn(transcript)},
	}
	for _, v := range check(h) {
		t.Error(v)
	}
	if len(conns) < 3 {
		t.Errorf("%d connections: the cuts did not cut", len(conns))
	}
}

// A broker that is stopped with open relayed streams, some with readers that read nothing, cuts
// them and exits in time.
func TestABrokerEndsWithRelayedStreamsOpen(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("shutdown")
	stream, err := s.user().Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "slow 3000"})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() { endOf(t, stream, sync.OnceFunc(func() { close(begun) })) })
	<-begun
	answer, err := s.user().Attach(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			s.broker.url+"/api/agent/stream/"+task+"?token="+answer.StreamToken, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", resp, err)
		}
		if i%2 == 0 {
			defer func() { _ = resp.Body.Close() }() // it reads nothing
			continue
		}
		readers.Go(func() {
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.Copy(io.Discard, resp.Body); err == nil {
				t.Error("a relayed stream looks like a turn that has ended")
			}
		})
	}
	s.broker.stop()
	s.host.stop()
	readers.Wait()
}
