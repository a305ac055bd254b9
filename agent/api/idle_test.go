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
		one, _, err := s.open(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		w, err := one.hub.Watch(false)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // a client is connected, so the session stays
		prompt := "slow 36000"
		if err := one.agent.Handle(&protocol.Line{Type: protocol.LineInput, Text: &prompt}); err != nil {
			t.Fatal(err)
		}
		w.Leave()
		s.wake()
		time.Sleep(10*time.Minute - time.Second)
		if _, err := s.find(one.id); err != nil {
			t.Errorf("it ended too early: %v", err)
		}
		time.Sleep(2 * time.Second)
		if _, err := s.find(one.id); err == nil {
			t.Error("the session still exists, and its turn continues")
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
