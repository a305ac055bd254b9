package activity

import (
	"maps"
	"slices"
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Unnamed is the name of a program that reports none.
const Unnamed = "?"

// Tracker keeps what programs do, by workspace. It is safe for concurrent use.
type Tracker struct {
	quiet   time.Duration
	changed func(path string) // called without the lock

	mu    sync.Mutex
	known map[string]map[string]*program // by path, then by name; "" is for requests without a program
}

// program is a program that a person started in a terminal.
type program struct {
	doing  core.Activity
	silent *time.Timer // while it works or waits
}

// maxPrograms limits the number of programs that are remembered per workspace.
const maxPrograms = 64

// room returns the name that a program is remembered by. If there are too many
// programs, it forgets an idle one: a program that was killed never reports its end.
func room(programs map[string]*program, name string) string {
	if programs[name] != nil || len(programs) < maxPrograms {
		return name
	}
	for other, p := range programs {
		if other != "" && p.silent == nil {
			delete(programs, other)
			return name
		}
	}
	return Unnamed
}

// New returns an empty Tracker. A program that works or waits and reports nothing for the
// time of quiet counts as idle. changed is called after what a workspace's programs do in total
// has changed.
func New(quiet time.Duration, changed func(path string)) *Tracker {
	return &Tracker{quiet: quiet, changed: changed, known: map[string]map[string]*program{}}
}

// Mark notes a request from the workspace: StatusNone becomes StatusIdle.
func (a *Tracker) Mark(path string) { a.Report(path, "", core.Activity{Status: protocol.StatusIdle}) }

// Alive notes that a program exists, without what it does.
func (a *Tracker) Alive(path, name string) {
	a.update(path, func(programs map[string]*program) {
		name = room(programs, name)
		p := programs[name]
		if p == nil {
			programs[name] = &program{doing: core.Activity{Status: protocol.StatusIdle}}
		} else if p.silent != nil {
			p.silent.Reset(a.quiet)
		}
	})
}

// Report notes what a program does. StatusNone means that it has ended.
func (a *Tracker) Report(path, name string, now core.Activity) {
	a.update(path, func(programs map[string]*program) {
		name = room(programs, name)
		if p := programs[name]; p != nil {
			p.stopTimer()
		}
		if now.Status == protocol.StatusNone {
			delete(programs, name)
			if _, marked := programs[""]; marked && len(programs) == 1 {
				delete(programs, "")
			}
			return
		}
		p := &program{doing: now}
		programs[name] = p
		// Waiting ends by silence too: a program does not report that a person left its question with Esc.
		if now.Status == protocol.StatusBusy || now.Reason != "" {
			p.silent = time.AfterFunc(a.quiet, func() { a.fellSilent(path, name, p) })
		}
	})
}

func (a *Tracker) fellSilent(path, name string, p *program) {
	a.update(path, func(programs map[string]*program) {
		if programs[name] == p {
			programs[name] = &program{doing: core.Activity{Status: protocol.StatusIdle}}
		}
	})
}

// update changes the programs of a workspace and calls changed if their total changed.
func (a *Tracker) update(path string, f func(map[string]*program)) {
	a.mu.Lock()
	before := a.of(path)
	if a.known[path] == nil {
		a.known[path] = map[string]*program{}
	}
	f(a.known[path])
	if len(a.known[path]) == 0 {
		delete(a.known, path)
	}
	after := a.of(path)
	a.mu.Unlock()
	if before != after {
		a.changed(path)
	}
}

// Forget drops a workspace.
func (a *Tracker) Forget(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.known[path] {
		p.stopTimer()
	}
	delete(a.known, path)
}

// Stop ends the timers.
func (a *Tracker) Stop() {
	a.mu.Lock()
	paths := slices.Collect(maps.Keys(a.known))
	a.mu.Unlock()
	for _, path := range paths {
		a.Forget(path)
	}
}

// Now returns what the workspace's programs do in total.
func (a *Tracker) Now(path string) core.Activity {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(path)
}

func (a *Tracker) of(path string) core.Activity {
	all := core.Activity{Status: protocol.StatusNone}
	for _, p := range a.known[path] {
		all = Busier(all, p.doing)
	}
	return all
}

// Paths returns the workspaces with programs.
func (a *Tracker) Paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.known))
}

// Busier returns what two programs of a workspace do in total: the busier one counts,
// and of idle ones the one that waits for a user.
func Busier(a, b core.Activity) core.Activity {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(d core.Activity) int {
	switch {
	case d.Status == protocol.StatusBusy:
		return 4
	case d.Status == protocol.StatusIdle && d.Reason == protocol.ReasonWaiting:
		return 3
	case d.Status == protocol.StatusIdle && d.Reason == protocol.ReasonChecking:
		return 2
	case d.Status == protocol.StatusIdle:
		return 1
	default:
		return 0
	}
}

func (p *program) stopTimer() {
	if p.silent != nil {
		p.silent.Stop()
		p.silent = nil
	}
}
