package api

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/protocol"
)

func TestASessionWithoutClientsEndsAfterItsIdleTime(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{
			IdleTimeout: 10 * time.Minute,
			Open:        func(context.Context, Opening) (Opened, error) { return Opened{}, nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		one, _ := s.newSession("one")
		if err := s.open(t.Context(), one, "", ""); err != nil {
			t.Fatal(err)
		}
		w, err := one.hub.Watch(false)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)  // a client is connected, so the session stays
		prompt := "slow 18000" // half an hour
		if err := one.agent.Handle(&protocol.Line{Type: protocol.LineInput, Text: &prompt}); err != nil {
			t.Fatal(err)
		}
		w.Leave()
		s.wake()
		time.Sleep(29 * time.Minute)
		if _, err := s.find(one.id); err != nil {
			t.Errorf("it ended during its turn: %v", err)
		}
		time.Sleep(10 * time.Minute) // the turn ended after 30 minutes
		if _, err := s.find(one.id); err != nil {
			t.Errorf("it ended less than the idle time after its turn: %v", err)
		}
		time.Sleep(12 * time.Minute)
		if _, err := s.find(one.id); err == nil {
			t.Error("the session still exists")
		}
		synctest.Wait()
		if _, err := os.Stat(one.dir); err == nil {
			t.Error("its files are still there")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
