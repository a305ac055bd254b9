//go:build failpoints

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// armed is nil while no point is armed, so that Hit costs one load.
var armed atomic.Pointer[points]

func init() {
	if spec := os.Getenv(Env); spec != "" {
		armed.Store(parse(spec, die))
	}
}

// points is copied by every Set; the copies share the counters.
type points map[string]*point

type point struct {
	left atomic.Int64 // hits until it fires; negative = it fired
	fire func()
	each bool
}

// Hit fires the point name if it is armed: by Env once, at the Nth hit, with SIGKILL; by Set at
// every hit.
func Hit(name string) {
	all := armed.Load()
	if all == nil {
		return
	}
	p := (*all)[name]
	if p == nil {
		return
	}
	if p.each || p.left.Add(-1) == 0 {
		p.fire()
	}
}

var setMu sync.Mutex

// Set makes every hit of name in this process call f until restore is called.
func Set(name string, f func()) (restore func()) {
	previous := swap(name, &point{fire: f, each: true})
	return sync.OnceFunc(func() { swap(name, previous) })
}

func swap(name string, p *point) (previous *point) {
	setMu.Lock()
	defer setMu.Unlock()
	next := points{}
	if all := armed.Load(); all != nil {
		for n, old := range *all {
			next[n] = old
		}
	}
	previous = next[name]
	if p == nil {
		delete(next, name)
	} else {
		next[name] = p
	}
	if len(next) == 0 {
		armed.Store(nil)
	} else {
		armed.Store(&next)
	}
	return previous
}

// parse panics on a malformed list: a crash test whose point never fires would pass for the
// wrong reason.
func parse(spec string, fire func()) *points {
	all := points{}
	for _, item := range strings.Split(spec, ",") {
		name, count, counted := strings.Cut(strings.TrimSpace(item), ":")
		n := 1
		if counted {
			var err error
			if n, err = strconv.Atoi(count); err != nil || n < 1 {
				panic(Env + ": " + item + ": want name or name:N with N ≥ 1")
			}
		}
		if name == "" {
			panic(Env + ": empty name in " + strconv.Quote(spec))
		}
		p := &point{fire: fire}
		p.left.Store(int64(n))
		all[name] = p
	}
	return &all
}
