package activity

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// watched counts the changes of a workspace.
func watched(quiet time.Duration) (*Tracker, *int) {
	changes := new(int)
	return New(quiet, func(string) { *changes++ }), changes
}

func TestAWorkspaceWakesWorksAndRests(t *testing.T) {
	t.Parallel()
	none, idle, busy := core.Activity{Status: protocol.StatusNone},
		core.Activity{Status: protocol.StatusIdle}, core.Activity{Status: protocol.StatusBusy}
	waiting := core.Activity{Status: protocol.StatusIdle, Reason: protocol.ReasonWaiting}
	for name, c := range map[string]struct {
		do      func(a *Tracker)
		want    core.Activity
		changes int
	}{
		"nothing is known":           {func(*Tracker) {}, none, 0},
		"the first request wakes it": {func(a *Tracker) { a.Mark("w"); a.Mark("w") }, idle, 1},
		"a program wakes it":         {func(a *Tracker) { a.Alive("w", "p") }, idle, 1},
		"a prompt is work":           {func(a *Tracker) { a.Mark("w"); a.Report("w", "p", busy) }, busy, 2},
		"a stop ends it":             {func(a *Tracker) { a.Report("w", "p", busy); a.Report("w", "p", idle) }, idle, 2},
		"one of two works":           {func(a *Tracker) { a.Report("w", "p", busy); a.Report("w", "q", idle) }, busy, 1},
		"waiting is seen beside idle": {
			func(a *Tracker) { a.Report("w", "p", waiting); a.Report("w", "q", idle) }, waiting, 1,
		},
		"work is seen beside waiting": {
			func(a *Tracker) { a.Report("w", "p", waiting); a.Report("w", "q", busy) }, busy, 2,
		},
		"the last one ends": {
			func(a *Tracker) { a.Mark("w"); a.Report("w", "p", busy); a.Report("w", "p", none) }, none, 3,
		},
		"the last but one ends": {
			func(a *Tracker) { a.Report("w", "p", idle); a.Report("w", "q", busy); a.Report("w", "q", none) }, idle, 3,
		},
		"the end of an unknown program": {func(a *Tracker) { a.Report("w", "p", none) }, none, 0},
		"another workspace is another":  {func(a *Tracker) { a.Report("v", "p", busy) }, none, 1},
		"a deleted workspace":           {func(a *Tracker) { a.Report("w", "p", busy); a.Forget("w") }, none, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, changes := watched(time.Minute)
			defer a.Stop()
			c.do(a)
			if got := a.Now("w"); got != c.want || *changes != c.changes {
				t.Errorf("%+v after %d changes, want %+v after %d", got, *changes, c.want, c.changes)
			}
		})
	}
}

func TestOfTooManyProgramsTheIdleAreForgotten(t *testing.T) {
	t.Parallel()
	a, _ := watched(time.Minute)
	defer a.Stop()
	a.Mark("w")
	a.Report("w", "busy", core.Activity{Status: protocol.StatusBusy})
	for i := range 1000 {
		a.Report("w", fmt.Sprint("idle ", i), core.Activity{Status: protocol.StatusIdle})
	}
	if n := len(a.known["w"]); n > maxPrograms {
		t.Errorf("%d are remembered", n)
	}
	for i := range 1000 {
		a.Report("w", fmt.Sprint("busy ", i), core.Activity{Status: protocol.StatusBusy})
	}
	if n := len(a.known["w"]); n > maxPrograms+1 || a.known["w"]["busy"] == nil ||
		a.Now("w").Status != protocol.StatusBusy {
		t.Errorf("%d are remembered: %+v", n, a.Now("w"))
	}
}

func TestASilentProgramIsTakenToBeIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, changes := watched(10 * time.Minute)
		a.Report("w", "p", core.Activity{Status: protocol.StatusBusy})
		time.Sleep(9 * time.Minute)
		a.Alive("w", "p")
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if got := a.Now("w").Status; got != protocol.StatusBusy {
			t.Errorf("9 minutes after its last word: %s", got)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got := a.Now("w").Status; got != protocol.StatusIdle || *changes != 2 {
			t.Errorf("after 10 minutes: %s, %d changes", got, *changes)
		}
		a.Report("w", "p", core.Activity{Status: protocol.StatusBusy})
		a.Report("w", "p", core.Activity{Status: protocol.StatusIdle})
		a.Report("w", "p", core.Activity{Status: protocol.StatusBusy})
		time.Sleep(9 * time.Minute) // an earlier timer must not end this one
		synctest.Wait()
		if got := a.Now("w").Status; got != protocol.StatusBusy {
			t.Errorf("at work again: %s", got)
		}
		waiting := core.Activity{Status: protocol.StatusIdle, Reason: protocol.ReasonWaiting}
		a.Report("w", "p", waiting) // its person leaves the question by Esc, which no hook reports
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if got := a.Now("w"); got != waiting {
			t.Errorf("9 minutes after a question: %+v", got)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got := a.Now("w"); got != (core.Activity{Status: protocol.StatusIdle}) {
			t.Errorf("10 minutes after a question: %+v", got)
		}
		a.Stop()
	})
}
