package agenthost

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost/delivery"
	"bellhop/protocol"
)

// Host runs sessions. Make it with New, which also does the recovery of what a
// crash left open, and drive it with Run.
type Host struct {
	opts    Options
	started time.Time

	// work ends what agents do, posting ends the outboxes, which outlive it.
	work        context.Context
	stopWork    context.CancelFunc
	posting     context.Context
	stopPosting context.CancelFunc
	wg          sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session
	watchers map[chan struct{}]struct{}
	phase    phase
	shared   map[string]string // by broker, the incarnation that its sessions were told last

	activity *activity
	sender   *delivery.Sender
}

// phase is where Run is. Outboxes post while running and draining.
type phase int

const (
	waiting phase = iota
	running
	draining
	stopped
)

// New loads the journal and closes what a crash left open: open turns end with
// host-restarted, their questions before them; announced turns whose tokens have
// expired end with not-started. Nothing is posted before Run.
func New(opts Options) (*Host, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	h := &Host{
		opts:     opts,
		started:  opts.Now().UTC(),
		sessions: map[string]*session{},
		watchers: map[chan struct{}]struct{}{},
		shared:   map[string]string{},
	}
	h.work, h.stopWork = context.WithCancel(context.Background())
	h.posting, h.stopPosting = context.WithCancel(context.Background())
	h.sender = delivery.NewSender(opts.Poster, opts.Password)
	h.activity = newActivity(opts.ActivityTimeout, h.worked)
	if err := h.recover(); err != nil {
		h.stopWork()
		h.stopPosting()
		return nil, err
	}
	return h, nil
}

func (o *Options) complete() error {
	if o.Journal == nil || o.Workspaces == nil || len(o.Providers) == 0 {
		return protocol.Errorf(protocol.CodeInternal, "an agent host needs a journal, workspaces and a provider")
	}
	if _, ok := o.Providers[o.DefaultAgent]; !ok {
		return protocol.Errorf(protocol.CodeInvalid, "The default agent %q is not one of %s", o.DefaultAgent, agentNames(o.Providers))
	}
	if o.Secrets == nil {
		o.Secrets = func(string) []string { return nil }
	}
	if o.Env == nil {
		o.Env = func(string) []string { return nil }
	}
	if o.Poster == nil {
		o.Poster = delivery.NewPoster()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fallback(&o.TokenTTL, protocol.StreamTokenLifetime)
	fallback(&o.InteractionTimeout, 30*time.Minute)
	fallback(&o.IdleStop, 10*time.Minute)
	fallback(&o.ActivityTimeout, 10*time.Minute)
	fallback(&o.DrainTimeout, 2*time.Second)
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	o.LocalURL = strings.TrimRight(o.LocalURL, "/")
	return nil
}

func fallback(d *time.Duration, usual time.Duration) {
	if *d <= 0 {
		*d = usual
	}
}

func agentNames(providers map[string]Provider) string {
	names := make([]string, 0, len(providers))
	for name := range providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// session returns a session that exists, CodeNotFound otherwise. It may be
// deleted before the caller has its lock.
func (h *Host) session(id string) (*session, error) {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil || !s.durable.Load() {
		return nil, errSessionNotFound()
	}
	return s, nil
}

func errSessionNotFound() error {
	return &protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"}
}

// sessionToOpen returns the session with its lock held, a new one if need be.
func (h *Host) sessionToOpen(id string) *session {
	for {
		h.mu.Lock()
		s := h.sessions[id]
		if s == nil {
			s = newSession(h, id)
			h.sessions[id] = s
		}
		h.mu.Unlock()
		s.mu.Lock()
		if !s.state.Deleted {
			return s
		}
		s.mu.Unlock()
	}
}

func (h *Host) all() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		if s.durable.Load() {
			out = append(out, s)
		}
	}
	return out
}

// spawn runs f under the host's wait group, unless the host has ended.
func (h *Host) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == stopped {
		return false
	}
	h.wg.Go(f)
	return true
}

func (h *Host) in(phases ...phase) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(phases, h.phase)
}
