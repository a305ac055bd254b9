package agenthost_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func actOf(id, asks string, seen time.Time) *agenthost.ActRecord {
	return &agenthost.ActRecord{SessionID: "s1", ID: id, Digest: []byte(asks), Seen: seen}
}

func TestAnActHasOneEffectHoweverLateItsCopy(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Now = clock.Now }
	r.start()
	seen, effects := clock.Now(), 0
	once := func(id, asks string, status int) (int, error) {
		act := actOf(id, asks, seen)
		err := r.host.Once(t.Context(), act, false, func(context.Context) {
			effects++
			act.Status, act.Answer = status, fmt.Appendf(nil, `{"effect":%d}`, effects)
		})
		if err == nil && string(act.Answer) == "" {
			t.Errorf("%s has no answer", id)
		}
		return act.Status, err
	}
	want := func(step string, all int, code protocol.Code, err error) {
		t.Helper()
		if effects != all || protocol.CodeOf(err) != code {
			t.Fatalf("%s: %d effects, want %d; %v", step, effects, all, err)
		}
	}
	_, err := once("a", "discard", http.StatusOK)
	want("the act", 1, "", err)
	_, err = once("b", "discard", http.StatusConflict)
	want("one that is refused", 2, "", err)
	for i, later := range []time.Duration{time.Second, time.Minute, time.Hour, 6 * 24 * time.Hour} {
		clock.Advance(later)
		status, err := once("a", "discard", http.StatusOK)
		want(later.String(), 2+i, "", err)
		if status != http.StatusOK {
			t.Errorf("after %v: status %d", later, status)
		}
		status, err = once("b", "discard", http.StatusOK)
		want(later.String()+", refused", 2+i, "", err)
		if status != http.StatusConflict {
			t.Errorf("the refused act has status %d after %v", status, later)
		}
		_, err = once(fmt.Sprint("newer ", i), "discard", http.StatusOK)
		want("newer work", 3+i, "", err)
		r.stop()
		r.open(filepath.Join(r.dir, "data"))
		r.run()
	}
	_, err = once("a", "commit", http.StatusOK)
	want("another act of the same key", 6, protocol.CodeConflict, err)
	seen = clock.Now()
	_, err = once("c", "discard", http.StatusBadGateway)
	want("a failure", 7, "", err)
	_, err = once("c", "discard", http.StatusOK)
	want("its second attempt", 8, "", err)
	seen = clock.Now().Add(-protocol.ActKept - time.Second)
	_, err = once("d", "discard", http.StatusOK)
	want("an unknown act of a week ago", 8, protocol.CodeConflict, err)
	if _, err = r.journal.Act(t.Context(), "s1", "a"); protocol.CodeOf(err) != "" {
		t.Errorf("an act is forgotten within a week: %v", err)
	}
	seen = clock.Now().Add(24 * time.Hour)
	clock.Advance(24 * time.Hour)
	_, err = once("e", "discard", http.StatusOK)
	want("an act a day later", 9, "", err)
	if _, err = r.journal.Act(t.Context(), "s1", "a"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("an act is kept for more than a week: %v", err)
	}
}

func TestCopiesOfAnActWaitForItsAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	begun, end := make(chan struct{}), make(chan struct{})
	caller, leave := context.WithCancel(t.Context())
	var copies sync.WaitGroup
	first := actOf("a", "push", time.Now())
	copies.Go(func() {
		err := r.host.Once(caller, first, false, func(ctx context.Context) {
			close(begun)
			<-end
			if ctx.Err() != nil {
				t.Error("the act ended with its caller")
			}
			first.Status, first.Answer = http.StatusOK, []byte("done")
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	leave()
	for range 3 {
		copies.Go(func() {
			act := actOf("a", "push", time.Now())
			err := r.host.Once(t.Context(), act, false, func(context.Context) { t.Error("it happened again") })
			if err != nil || string(act.Answer) != "done" {
				t.Errorf("%v, %q", err, act.Answer)
			}
		})
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	err := r.host.Once(impatient, actOf("a", "push", time.Now()), false, func(context.Context) { t.Error("again") })
	if err == nil {
		t.Error("a copy without patience got an answer")
	}
	close(end)
	copies.Wait()
}

func TestAnActThatTheEndOfTheHostCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var data string
	act := actOf("a", "push", time.Now())
	err := r.host.Once(t.Context(), act, false, func(context.Context) {
		data = r.crash()
		act.Status, act.Answer = http.StatusOK, []byte("nobody got this")
	})
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.open(data)
	r.run()
	err = r.host.Once(t.Context(), actOf("a", "push", time.Now()), false, func(context.Context) { t.Error("again") })
	if protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), "ended while it did this") {
		t.Errorf("got %v", err)
	}
	again, ran := actOf("a", "push", time.Now()), false
	err = r.host.Once(t.Context(), again, true, func(context.Context) {
		ran, again.Status, again.Answer = true, http.StatusOK, []byte("done")
	})
	if err != nil || !ran {
		t.Errorf("an act that may be done again: %v, ran %v", err, ran)
	}
}
