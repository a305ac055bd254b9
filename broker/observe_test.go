package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"bellhop/internal/observe"
	"bellhop/protocol"
)

// observed keeps the outcomes of one kind of operation.
type observed struct {
	of observe.Operation

	mu  sync.Mutex
	all []observe.Outcome
}

func (o *observed) Begin(ctx context.Context, _ observe.Start) (context.Context, observe.Observer) {
	return ctx, o
}

func (o *observed) End(_ context.Context, start observe.Start, _ time.Duration, out observe.Outcome) {
	if start.Operation == o.of {
		o.mu.Lock()
		o.all = append(o.all, out)
		o.mu.Unlock()
	}
}

// The lag is that of a request's oldest event. A repeated request has none: its events were stored
// earlier.
func TestIngestObservesEventsAndTheirLag(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	seen := &observed{of: observe.Ingest}
	k.ingest.Observer = seen
	task := k.task()
	event := func(seq int, age time.Duration) string {
		return fmt.Sprintf(`{'type':'text','eventId':'e%d','epoch':1,'seq':%d,'turnId':'t1','id':'t','text':'x','timestamp':%d}`,
			seq, seq, k.clock.Now().Add(-age).UnixMilli())
	}
	first := []string{event(1, 3*time.Second), event(2, time.Second)}
	k.mustSend(task.ID, "", first...)
	k.mustSend(task.ID, "", first...)
	k.mustSend(task.ID, "", first[1], event(3, time.Minute))
	if _, err := k.send("no-such-task", "", event(1, time.Hour)); err == nil {
		t.Error("an unknown task was accepted")
	}
	late := seen.all[0].Lag - 3*time.Second // times of events have milliseconds
	if late < 0 || late >= time.Millisecond {
		t.Errorf("the lag is %v", seen.all[0].Lag)
	}
	for i, want := range []string{"2 0 true", "0 2 false", "1 1 true", "0 0 false not_found"} {
		out := seen.all[i]
		got := fmt.Sprint(out.Accepted, out.Duplicates, out.Lag > 0)
		if out.Err != nil {
			got += " " + string(protocol.CodeOf(out.Err))
		}
		if got != want {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
}
