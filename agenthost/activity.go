package agenthost

import (
	"maps"
	"slices"
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// activity follows programs that the host does not run itself, by workspace: those
// that a person started in a terminal there tell what they do by hooks. A program
// that falls silent while busy is taken to be idle after quiet.
//
//	        first request           prompt
//	none ────────────────► idle ◄──────────► busy
//	  ▲                     │ ▲    stop, quiet  │
//	  └──── last one ends ──┘ └─────────────────┘
type activity struct {
	quiet   time.Duration
	changed func(path string) // called without the lock

	mu    sync.Mutex
	known map[string]map[string]*foreign // by path, then by program; "" stands for requests of nobody in particular
}

// foreign is a program in somebody's terminal.
type foreign struct {
	doing  doing
	silent *time.Timer // while it is busy
}

// maxPrograms bounds what is remembered of one workspace.
const maxPrograms = 64

// room finds the name that a program is remembered by. When there are too many, one
// that idles is forgotten: those that were killed never say that they have ended.
func room(programs map[string]*foreign, program string) string {
	if programs[program] != nil || len(programs) < maxPrograms {
		return program
	}
	for name, p := range programs {
		if name != "" && p.silent == nil {
			delete(programs, name)
			return program
		}
	}
	return unnamed
}

// doing is a status with its reason.
type doing = core.Activity

func newActivity(quiet time.Duration, changed func(path string)) *activity {
	return &activity{quiet: quiet, changed: changed, known: map[string]map[string]*foreign{}}
}

// mark notes a request from the workspace: it is no longer without any program.
func (a *activity) mark(path string) { a.report(path, "", doing{Status: protocol.StatusIdle}) }

// alive notes that a program is there, whatever it does.
func (a *activity) alive(path, program string) {
	a.update(path, func(programs map[string]*foreign) {
		program = room(programs, program)
		p := programs[program]
		if p == nil {
			programs[program] = &foreign{doing: doing{Status: protocol.StatusIdle}}
		} else if p.silent != nil {
			p.silent.Reset(a.quiet)
		}
	})
}

// report notes what a program does; none means that it has ended.
func (a *activity) report(path, program string, now doing) {
	a.update(path, func(programs map[string]*foreign) {
		program = room(programs, program)
		if p := programs[program]; p != nil {
			stopTimer(&p.silent)
		}
		if now.Status == protocol.StatusNone {
			delete(programs, program)
			if _, marked := programs[""]; marked && len(programs) == 1 {
				delete(programs, "")
			}
			return
		}
		p := &foreign{doing: now}
		programs[program] = p
		if now.Status == protocol.StatusBusy {
			p.silent = time.AfterFunc(a.quiet, func() { a.fellSilent(path, program, p) })
		}
	})
}

func (a *activity) fellSilent(path, program string, p *foreign) {
	a.update(path, func(programs map[string]*foreign) {
		if programs[program] == p {
			programs[program] = &foreign{doing: doing{Status: protocol.StatusIdle}}
		}
	})
}

// update tells of a change of what the workspace's programs do together.
func (a *activity) update(path string, f func(map[string]*foreign)) {
	a.mu.Lock()
	before := a.of(path)
	if a.known[path] == nil {
		a.known[path] = map[string]*foreign{}
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

// forget drops a workspace.
func (a *activity) forget(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.known[path] {
		stopTimer(&p.silent)
	}
	delete(a.known, path)
}

// stop ends the timers.
func (a *activity) stop() {
	a.mu.Lock()
	paths := slices.Collect(maps.Keys(a.known))
	a.mu.Unlock()
	for _, path := range paths {
		a.forget(path)
	}
}

// now is what the workspace's programs do together.
func (a *activity) now(path string) doing {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(path)
}

func (a *activity) of(path string) doing {
	all := doing{Status: protocol.StatusNone}
	for _, p := range a.known[path] {
		all = busier(all, p.doing)
	}
	return all
}

// paths are the workspaces that anything is known of.
func (a *activity) paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.known))
}

// busier returns what two programs of a workspace do in total: the busier one counts,
// and of idle ones the one that waits for a user.
func busier(a, b doing) doing {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(d doing) int {
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
