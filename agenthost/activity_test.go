package agenthost

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/protocol"
)

// watched counts the changes of a workspace.
func watched(quiet time.Duration) (*activity, *int) {
	changes := new(int)
	return newActivity(quiet, func(string) { *changes++ }), changes
}

func TestAWorkspaceWakesWorksAndRests(t *testing.T) {
	none, idle, busy := doing{Status: protocol.StatusNone}, doing{Status: protocol.StatusIdle}, doing{Status: protocol.StatusBusy}
	waiting := doing{Status: protocol.StatusIdle, Reason: protocol.ReasonWaiting}
	for name, c := range map[string]struct {
		do      func(a *activity)
		want    doing
		changes int
	}{
		"nothing is known":              {func(*activity) {}, none, 0},
		"the first request wakes it":    {func(a *activity) { a.mark("w"); a.mark("w") }, idle, 1},
		"so does a program":             {func(a *activity) { a.alive("w", "p") }, idle, 1},
		"a prompt is work":              {func(a *activity) { a.mark("w"); a.report("w", "p", busy) }, busy, 2},
		"a stop ends it":                {func(a *activity) { a.report("w", "p", busy); a.report("w", "p", idle) }, idle, 2},
		"one of two works":              {func(a *activity) { a.report("w", "p", busy); a.report("w", "q", idle) }, busy, 1},
		"waiting is seen beside idle":   {func(a *activity) { a.report("w", "p", waiting); a.report("w", "q", idle) }, waiting, 1},
		"work is seen beside waiting":   {func(a *activity) { a.report("w", "p", waiting); a.report("w", "q", busy) }, busy, 2},
		"the last one ends":             {func(a *activity) { a.mark("w"); a.report("w", "p", busy); a.report("w", "p", none) }, none, 3},
		"the last but one ends":         {func(a *activity) { a.report("w", "p", idle); a.report("w", "q", busy); a.report("w", "q", none) }, idle, 3},
		"the end of nobody is no news":  {func(a *activity) { a.report("w", "p", none) }, none, 0},
		"another workspace is another":  {func(a *activity) { a.report("v", "p", busy) }, none, 1},
		"a deleted workspace is nobody": {func(a *activity) { a.report("w", "p", busy); a.forget("w") }, none, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, changes := watched(time.Minute)
			defer a.stop()
			c.do(a)
			if got := a.now("w"); got != c.want || *changes != c.changes {
				t.Errorf("%+v after %d changes, want %+v after %d", got, *changes, c.want, c.changes)
			}
		})
	}
}

func TestOfTooManyProgramsTheIdleAreForgotten(t *testing.T) {
	a, _ := watched(time.Minute)
	defer a.stop()
	a.mark("w")
	a.report("w", "busy", doing{Status: protocol.StatusBusy})
	for i := range 1000 {
		a.report("w", fmt.Sprint("idle ", i), doing{Status: protocol.StatusIdle})
	}
	if n := len(a.known["w"]); n > maxPrograms {
		t.Errorf("%d are remembered", n)
	}
	for i := range 1000 {
		a.report("w", fmt.Sprint("busy ", i), doing{Status: protocol.StatusBusy})
	}
	if n := len(a.known["w"]); n > maxPrograms+1 || a.known["w"]["busy"] == nil || a.now("w").Status != protocol.StatusBusy {
		t.Errorf("%d are remembered: %+v", n, a.now("w"))
	}
}

func TestASilentProgramIsTakenToBeIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, changes := watched(10 * time.Minute)
		a.report("w", "p", doing{Status: protocol.StatusBusy})
		time.Sleep(9 * time.Minute)
		a.alive("w", "p")
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if got := a.now("w").Status; got != protocol.StatusBusy {
			t.Errorf("9 minutes after its last word: %s", got)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got := a.now("w").Status; got != protocol.StatusIdle || *changes != 2 {
			t.Errorf("after 10 minutes: %s, %d changes", got, *changes)
		}
		a.report("w", "p", doing{Status: protocol.StatusBusy})
		a.report("w", "p", doing{Status: protocol.StatusIdle})
		a.report("w", "p", doing{Status: protocol.StatusBusy})
		time.Sleep(9 * time.Minute) // an earlier timer must not end this one
		synctest.Wait()
		if got := a.now("w").Status; got != protocol.StatusBusy {
			t.Errorf("at work again: %s", got)
		}
		a.stop()
	})
}
