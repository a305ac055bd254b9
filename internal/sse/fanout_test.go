package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"bellhop/internal/sse"
)

func TestEverySubscriberGetsEveryFrameInOrder(t *testing.T) {
	t.Parallel()
	const subscribers, frames = 50, 2000
	fanout := sse.NewFanout()
	var readers sync.WaitGroup
	progress := make(chan struct{}, subscribers)
	for range subscribers {
		sub := fanout.Subscribe()
		readers.Go(func() {
			defer sub.Close()
			for i := range frames {
				frame, err := sub.Next(context.Background())
				if err != nil || string(frame) != fmt.Sprint(i) {
					t.Errorf("frame %d: %q, %v", i, frame, err)
					return
				}
				if i%100 == 99 {
					progress <- struct{}{}
				}
			}
			if _, err := sub.Next(context.Background()); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
	for i := range frames {
		fanout.Publish([]byte(fmt.Sprint(i)))
		if i%100 == 99 {
			for range subscribers {
				<-progress
			}
		}
	}
	fanout.Close()
	readers.Wait()
	if n := fanout.Subscribers(); n != 0 {
		t.Fatalf("%d subscriptions left", n)
	}
}

func TestASubscriberOverItsCapsIsDropped(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		size int
		fit  int
	}{
		{"256 frames", 10, 256},
		{"1 MiB", 64 << 10, 16},
		{"a single frame over 1 MiB fits", 3 << 20, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fanout := sse.NewFanout()
			sub := fanout.Subscribe()
			defer sub.Close()
			frame := make([]byte, c.size)
			for range c.fit {
				fanout.Publish(frame)
			}
			if err := sub.Err(); err != nil {
				t.Fatalf("cut within its caps: %v", err)
			}
			fanout.Publish(frame)
			if err := sub.Err(); !errors.Is(err, sse.ErrSlow) {
				t.Fatalf("not cut: %v", err)
			}
			if _, err := sub.Next(context.Background()); !errors.Is(err, sse.ErrSlow) {
				t.Fatalf("a cut subscriber must be notified at once: %v", err)
			}
			if n := fanout.Subscribers(); n != 0 {
				t.Fatalf("%d subscriptions left", n)
			}
		})
	}
}

func TestDrainingMakesRoom(t *testing.T) {
	t.Parallel()
	fanout := sse.NewFanout()
	sub := fanout.Subscribe()
	defer sub.Close()
	for range 20 {
		for range sse.MaxQueuedFrames {
			fanout.Publish([]byte("x"))
		}
		var got int
		for got < sse.MaxQueuedFrames {
			batch, err := sub.NextBatch(context.Background(), make([][]byte, 0, 100))
			if err != nil || len(batch) > 100 {
				t.Fatalf("%d frames, %v", len(batch), err)
			}
			got += len(batch)
		}
	}
	fanout.Publish([]byte("y"))
	if batch, err := sub.NextBatch(context.Background(), nil); err != nil || len(batch) != 1 || string(batch[0]) != "y" {
		t.Fatalf("%q, %v", batch, err)
	}
}

func TestEndOfAFanout(t *testing.T) {
	t.Parallel()
	fanout := sse.NewFanout()
	sub := fanout.Subscribe()
	fanout.Publish([]byte("last"))
	fanout.Close()
	fanout.Publish([]byte("too late"))
	if frame, err := sub.Next(context.Background()); err != nil || string(frame) != "last" {
		t.Fatalf("queued frames must arrive: %q, %v", frame, err)
	}
	for _, s := range []*sse.Subscription{sub, fanout.Subscribe()} {
		if _, err := s.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		s.Close()
		s.Close()
	}
}

func TestCutEndsReadersAndLetsOthersJoin(t *testing.T) {
	t.Parallel()
	fanout := sse.NewFanout()
	former := fanout.Subscribe()
	fanout.Publish([]byte("queued"))
	fanout.Cut()
	later := fanout.Subscribe()
	fanout.Publish([]byte("new"))
	if frame, err := former.Next(context.Background()); err != nil || string(frame) != "queued" {
		t.Fatalf("queued frames must arrive: %q, %v", frame, err)
	}
	if _, err := former.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if frame, err := later.Next(context.Background()); err != nil || string(frame) != "new" {
		t.Fatalf("the later reader: %q, %v", frame, err)
	}
}

func TestClosingASubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fanout := sse.NewFanout()
		sub := fanout.Subscribe()
		ended := make(chan error)
		go func() {
			_, err := sub.Next(context.Background())
			ended <- err
		}()
		synctest.Wait()
		sub.Close()
		if err := <-ended; !errors.Is(err, sse.ErrClosed) {
			t.Fatal(err)
		}
		fanout.Publish([]byte("x"))
		if _, err := sub.Next(context.Background()); !errors.Is(err, sse.ErrClosed) {
			t.Fatal(err)
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("access revoked")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(reason)
	sub := sse.NewFanout().Subscribe()
	defer sub.Close()
	if _, err := sub.Next(ctx); !errors.Is(err, reason) {
		t.Fatal(err)
	}
}

func BenchmarkPublishTo2000(b *testing.B) {
	fanout := sse.NewFanout()
	var readers sync.WaitGroup
	for range 2000 {
		sub := fanout.Subscribe()
		readers.Go(func() {
			for {
				if _, err := sub.NextBatch(context.Background(), nil); err != nil {
					return
				}
			}
		})
	}
	frame := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		fanout.Publish(frame)
	}
	fanout.Close()
	readers.Wait()
}
