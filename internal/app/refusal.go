package app

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// refusal is a target that the network refused to programs.
type refusal struct {
	Agent   string    `json:"agent,omitempty"` // "" = a command of a project
	Project string    `json:"project,omitempty"`
	Target  string    `json:"target"`
	Count   int       `json:"count"`
	LastAt  time.Time `json:"lastAt"`
}

// refusals counts the refused targets. Programs choose the targets, so their number and length
// are bounded.
type refusals struct {
	mu    sync.Mutex
	all   map[string]*refusal
	shown map[string]bool // by session and target
	show  func(session, target string)
}

const (
	maxRefusals      = 100
	maxRefusalsShown = 1000
	maxTargetLength  = 256
)

// add counts a refusal, and shows it to the session once.
func (r *refusals) add(line, target string) {
	var c networkClient
	_ = json.Unmarshal([]byte(line), &c) // it was read before
	if len(target) > maxTargetLength {
		target = target[:maxTargetLength]
	}
	if show := r.count(c, target); show != nil {
		show(c.Session, target)
	}
}

func (r *refusals) count(c networkClient, target string) (show func(session, target string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := c.Agent + "\x00" + c.Project + "\x00" + target
	if r.all[key] == nil && len(r.all) < maxRefusals {
		r.all[key] = &refusal{Agent: c.Agent, Project: c.Project, Target: target}
	}
	if known := r.all[key]; known != nil {
		known.Count++
		known.LastAt = time.Now().UTC()
	}
	key = c.Session + "\x00" + target
	if c.Session == "" || r.shown[key] || len(r.shown) >= maxRefusalsShown {
		return nil
	}
	r.shown[key] = true
	return r.show
}

// list returns the refusals, the last one first.
func (r *refusals) list() []refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []refusal{}
	for _, one := range r.all {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b refusal) int {
		return cmp.Or(b.LastAt.Compare(a.LastAt), cmp.Compare(a.Target, b.Target))
	})
	return out
}

// showWith sets what shows a refusal to a session.
func (r *refusals) showWith(show func(session, target string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show = show
}
