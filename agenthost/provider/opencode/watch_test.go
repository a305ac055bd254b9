package opencode_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// reports collects what an agent reports outside its turns.
type reports struct {
	mu      sync.Mutex
	lines   []string
	changed chan struct{}
}

func newReports() *reports { return &reports{changed: make(chan struct{}, 100)} }

func (r *reports) add(status protocol.Status, reason protocol.StatusReason) {
	r.mu.Lock()
	r.lines = append(r.lines, string(status)+reason)
	r.mu.Unlock()
	r.changed <- struct{}{}
}

// until waits for the last report.
func (r *reports) until(t *testing.T, want string) {
	t.Helper()
	for limit := time.After(patience); ; {
		r.mu.Lock()
		lines := slices.Clone(r.lines)
		r.mu.Unlock()
		if len(lines) > 0 && lines[len(lines)-1] == want {
			return
		}
		select {
		case <-r.changed:
		case <-limit:
			t.Fatalf("reported %q, not %s", lines, want)
		}
	}
}

func TestWorkOfATerminalClientIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newReports()
	a := open(t, options(f), agenthost.AgentSpec{Report: r.add}).(agenthost.TerminalAgent)
	if _, err := a.Terminal(t.Context()); err != nil {
		t.Fatal(err)
	}
	const busy, waiting, idle = "busy", "idlewaiting", "idle"
	asked := func(id string) object {
		return object{"id": id, "sessionID": f.session, "permission": "bash", "patterns": []string{"ls"}}
	}
	f.status("busy")
	r.until(t, busy)
	f.emit("permission.asked", asked("per_1"))
	r.until(t, waiting)
	f.emit("permission.replied", object{"sessionID": f.session, "requestID": "per_1", "reply": "once"})
	r.until(t, busy)
	f.emit("question.asked", object{"id": "que_1", "sessionID": f.session, "questions": []object{}})
	r.until(t, waiting)
	f.idle() // the question is stale
	r.until(t, idle)

	f.set(func() {
		f.busy[f.session] = encode(t, object{"type": "busy"})
		f.asked["per_2"] = encode(t, asked("per_2"))
	})
	f.cut() // the state is read again
	r.until(t, waiting)
	f.set(func() { delete(f.busy, f.session) }) // its request is stale
	f.cut()
	r.until(t, idle)

	f.status("busy")
	r.until(t, busy)
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.until(t, "none")
}

func TestATurnIsNotReportedAsWorkOfATerminal(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newReports()
	f.onPrompt = func() { f.opening(); f.ending() }
	run(t, open(t, options(f), agenthost.AgentSpec{Report: r.add}), &providertest.Recorder{})
	r.until(t, "idle")
	if slices.Contains(r.lines, "busy") {
		t.Errorf("reported %q", r.lines)
	}
}

func TestAStatusThatLastsIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newReports()
	o := options(f)
	var mu sync.Mutex
	now := time.UnixMilli(1000)
	o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	a := open(t, o, agenthost.AgentSpec{Report: r.add}).(agenthost.TerminalAgent)
	if _, err := a.Terminal(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.status("busy")
	r.until(t, "busy")
	for i, seconds := range []int{59, 1} {
		mu.Lock()
		now = now.Add(time.Duration(seconds) * time.Second)
		mu.Unlock()
		f.emit("permission.replied", object{"sessionID": f.session, "requestID": fmt.Sprint("old ", i)})
	}
	for limit := time.After(patience); ; {
		r.mu.Lock()
		n := len(slices.DeleteFunc(slices.Clone(r.lines), func(l string) bool { return l != "busy" }))
		r.mu.Unlock()
		if n == 2 {
			return
		}
		select {
		case <-r.changed:
		case <-limit:
			t.Fatalf("reported %d times", n)
		}
	}
}
