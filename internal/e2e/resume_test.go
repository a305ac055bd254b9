package e2e

import (
	"strings"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/internal/testenv/faultproxy"
	"bellhop/protocol"
)

func TestAStreamThatIsCutResumesExactly(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("cut")
	rec := &recorder{}
	c := client.New(s.api, patient(s.token, rec))
	req := &protocol.CheckInRequest{TaskID: task, Message: "slow 20 then list then slow 10", MessageID: protocol.NewID()}
	stream, err := c.Send(t.Context(), req)
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
			s.toStream.Set(faults[0])
			time.AfterFunc(200*time.Millisecond, func() { s.toStream.Set(faultproxy.Pass()) })
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
	if len(conns) < 4 {
		t.Errorf("%d connections: the cuts did not cut", len(conns))
	}
	for _, conn := range conns[1:] {
		if !strings.Contains(conn.Frames[0].Data, `"verdict":"ok"`) {
			t.Errorf("resumed after %s: %s", conn.After, conn.Frames[0].Data)
		}
	}
}
