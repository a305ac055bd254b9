package explore

import (
	"fmt"
	"strings"
)

// settledEvery: one of so many Worlds is also checked after it has become quiet. That takes
// as long as ten other checks.
const settledEvery = 16

// Result is what a Search found.
type Result struct {
	States      int
	Settled     int // of them, those that were checked after they had become quiet
	Transitions int
	Depth       int    // of the deepest World
	Violation   string // "" if there is none
	Trace       Trace  // the shortest that leads to it
	Complete    bool   // no World of the depth was left out
}

func (r *Result) String() string {
	text := fmt.Sprintf("%d states, %d transitions, depth %d", r.States, r.Transitions, r.Depth)
	if r.Violation == "" {
		return text
	}
	lines := []string{text, "violated: " + r.Violation}
	for i, name := range r.Trace {
		lines = append(lines, fmt.Sprintf("%3d. %s", i+1, name))
	}
	return strings.Join(lines, "\n")
}

// node is a visited World: how it was reached.
type node struct {
	parent int32
	action int32
}

// Search visits every World that depth actions can reach from start, breadth first, and
// stops at the first violation or after most Worlds.
func Search(start *World, depth, most int) *Result {
	s := &search{seen: map[fingerprint]struct{}{}, result: &Result{Complete: true}}
	s.visit(start, -1, -1)
	level := s.found
	for d := 1; d <= depth && len(level) > 0 && s.result.Violation == ""; d++ {
		s.found = nil
		for _, at := range level {
			if s.expand(at); s.result.Violation != "" {
				s.result.Trace = s.trace(start)
				break
			}
			if len(s.nodes) >= most {
				s.result.Complete = false
				break
			}
		}
		if s.result.Depth = d; !s.result.Complete {
			break
		}
		level = s.found
	}
	s.result.States = len(s.nodes)
	return s.result
}

type search struct {
	seen   map[fingerprint]struct{}
	nodes  []node
	found  []reached // of the next depth
	result *Result
}

type reached struct {
	world *World
	node  int32
}

func (s *search) expand(at reached) {
	list := at.world.Actions()
	for i := range list {
		s.result.Transitions++
		if s.visit(list[i].Do(at.world), at.node, int32(i)); s.result.Violation != "" {
			return
		}
	}
}

func (s *search) visit(w *World, parent, action int32) {
	key := w.fingerprint()
	if _, known := s.seen[key]; known {
		return
	}
	s.seen[key] = struct{}{}
	s.nodes = append(s.nodes, node{parent, action})
	s.found = append(s.found, reached{w, int32(len(s.nodes) - 1)})
	if s.result.Violation = w.Violation(); s.result.Violation == "" && len(s.nodes)%settledEvery == 0 {
		s.result.Settled++
		s.result.Violation = w.Settle()
	}
}

// trace repeats the actions that lead to the last node.
func (s *search) trace(start *World) Trace {
	var path []int32
	for n := int32(len(s.nodes) - 1); s.nodes[n].parent >= 0; n = s.nodes[n].parent {
		path = append(path, s.nodes[n].action)
	}
	names := Trace{}
	for w, i := start, len(path)-1; i >= 0; i-- {
		action := w.Actions()[path[i]]
		names = append(names, action.Name())
		w = action.Do(w)
	}
	return names
}
