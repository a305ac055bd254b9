package observe_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"bellhop/internal/observe"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestOnlyTracesOfTheStandardsFormAreTaken(t *testing.T) {
	t.Parallel()
	for trace, want := range map[string]string{
		parent: parent,
		"":     "",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01": "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": "",
		parent + "-more":               "",
		parent + "\r\nX-Other: header": "",
		"ff" + parent[2:]:              "",
		"another trace":                "",
	} {
		if got := observe.Trace(observe.WithTrace(t.Context(), trace)); got != want {
			t.Errorf("%q: %q", trace, got)
		}
	}
}

func TestATurnBelongsToTheRequestThatAnnouncedIt(t *testing.T) {
	t.Parallel()
	var turns observe.TurnTraces
	of := func(n int) context.Context {
		return observe.WithTrace(t.Context(), fmt.Sprintf("00-%032x-%016x-01", n, n))
	}
	turns.Note(of(1), "t1")
	turns.Note(of(2), "t1") // its prompt comes later, from another program
	turns.Note(t.Context(), "t2")
	if got := observe.Trace(turns.Start(t.Context(), "t1")); got != observe.Trace(of(1)) {
		t.Errorf("t1: %q", got)
	}
	if got := observe.Trace(turns.Start(t.Context(), "t1")); got != "" {
		t.Errorf("t1 once more: %q", got)
	}
	if got := observe.Trace(turns.Start(t.Context(), "t2")); got != "" {
		t.Errorf("t2: %q", got)
	}
	for n := 1; n <= 20; n++ {
		turns.Note(of(n), fmt.Sprint(n))
	}
	for n, want := range map[int]string{4: "", 5: observe.Trace(of(5)), 20: observe.Trace(of(20))} {
		if got := observe.Trace(turns.Start(t.Context(), fmt.Sprint(n))); got != want {
			t.Errorf("turn %d of twenty that were never started: %q, want %q", n, got, want)
		}
	}
}

type recorder struct {
	name string
	log  *[]string
}

func (r recorder) Begin(ctx context.Context, start observe.Start) (context.Context, observe.Observer) {
	*r.log = append(*r.log, r.name+" begins "+start.Name)
	return ctx, r
}

func (r recorder) End(_ context.Context, start observe.Start, _ time.Duration, out observe.Outcome) {
	*r.log = append(*r.log, r.name+" ends "+start.Name+" "+out.Result)
}

func TestBothObserversSeeAnOperation(t *testing.T) {
	t.Parallel()
	var log []string
	_, operation := observe.Begin(t.Context(), observe.Both(recorder{"one", &log}, recorder{"two", &log}),
		observe.Start{Name: "it"})
	operation.End(observe.Outcome{Result: "well"})
	want := []string{"one begins it", "two begins it", "two ends it well", "one ends it well"}
	if !slices.Equal(log, want) {
		t.Errorf("%q", log)
	}
	one := recorder{"one", &log}
	if observe.Both(nil, nil) != nil || observe.Both(one, nil) != one || observe.Both(nil, one) != one {
		t.Error("nil is an observer")
	}
}

func TestARequestHasAnIDAndATrace(t *testing.T) {
	t.Parallel()
	request := observe.WithRequest(t.Context(), "r-1", parent)
	if observe.RequestID(request) != "r-1" || observe.Trace(request) != parent {
		t.Errorf("%q, %q", observe.RequestID(request), observe.Trace(request))
	}
	if observe.RequestID(t.Context()) != "" || observe.Trace(observe.WithRequest(t.Context(), "r-2", "")) != "" {
		t.Error("there is an id or a trace before one is set")
	}
}

// brief is an observer that is not to be notified of ends.
type brief struct{ recorder }

func (b brief) Begin(ctx context.Context, start observe.Start) (context.Context, observe.Observer) {
	ctx, _ = b.recorder.Begin(ctx, start)
	return ctx, nil
}

func TestOnlyObserversThatWantItAreNotifiedOfAnEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		both func(one, two recorder) observe.Observer
		want []string
	}{
		"the first": {
			func(one, two recorder) observe.Observer { return observe.Both(one, brief{two}) },
			[]string{"one begins it", "two begins it", "one ends it well"},
		},
		"the second": {
			func(one, two recorder) observe.Observer { return observe.Both(brief{one}, two) },
			[]string{"one begins it", "two begins it", "two ends it well"},
		},
		"neither": {
			func(one, two recorder) observe.Observer { return observe.Both(brief{one}, brief{two}) },
			[]string{"one begins it", "two begins it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			both := c.both(recorder{"one", &log}, recorder{"two", &log})
			_, operation := observe.Begin(t.Context(), both, observe.Start{Name: "it"})
			operation.End(observe.Outcome{Result: "well"})
			if !slices.Equal(log, c.want) {
				t.Errorf("%q, want %q", log, c.want)
			}
		})
	}
}
