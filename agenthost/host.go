package agenthost

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost/access"
	"bellhop/agenthost/activity"
	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/agenthost/terminal"
	"bellhop/agenthost/usershell"
	"bellhop/protocol"
)

// Host runs sessions. New makes it and closes the turns that a crash left open; Run
// delivers its events.
type Host struct {
	opts    Options
	started time.Time

	// work is the context of agents; posting is that of outboxes, which end later.
	work        context.Context
	stopWork    context.CancelFunc
	posting     context.Context
	stopPosting context.CancelFunc
	sender      *delivery.Sender

	credentials stream.CredentialStreams

	registry
	Shells
	Programs
	Terminals
	access.UserWorkspaces
	access.Shipping
	access.Files
	Clients
	Brokers
	Acts
	brokerLives
}

// phase is the phase that Run has reached. Outboxes post while running and draining.
type phase int

const (
	waiting phase = iota
	running
	draining
	stopped
)

// New loads the journal and closes what a crash left open: open turns end with
// host-restarted, after their questions are resolved; announced turns whose tokens have
// expired end with not-started. Nothing is posted before Run.
func New(opts Options) (*Host, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	h := &Host{
		opts:    opts,
		started: opts.Now().UTC(),
	}
	h.registry = registry{
		create:   func(id string) *session { return newSession(h, id) },
		sessions: map[string]*session{}, watchers: map[chan struct{}]struct{}{}, notified: map[string]string{},
	}
	h.Programs = Programs{h: h, activity: activity.New(opts.ActivityTimeout, h.activityChanged)}
	h.UserWorkspaces = access.NewUserWorkspaces(opts.Workspaces, h.workspaceOf)
	h.Files = access.NewFiles(opts.Workspaces, h.workspaceOf)
	h.Shipping = access.NewShipping(opts.Workspaces, h.workspaceOf, h.whileIdle)
	h.Terminals = Terminals{h: h, turns: terminal.NewCollector(opts.Now)}
	var err error
	if h.Shells, err = usershell.NewOpener(opts.Shells, shellPlaces(h)); err != nil {
		return nil, err
	}
	h.Clients = Clients{h: h}
	h.Brokers = Brokers{h: h}
	h.Acts = newActs(opts.Journal, opts.Now)
	h.restoreLives(h, opts.BrokerLives)
	h.work, h.stopWork = context.WithCancel(context.Background())
	h.posting, h.stopPosting = context.WithCancel(context.Background())
	h.sender = delivery.NewSender(opts.Poster, opts.Password, opts.Now)
	h.sender.Observer = opts.Observer
	h.sender.BrokerLife = h.SeenBroker
	if !opts.Life.IsZero() {
		h.sender.Life = opts.Life.String()
	}
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
		return protocol.Errorf(protocol.CodeInvalid, "The default agent %q is not one of %s",
			o.DefaultAgent, agentNames(o.Providers))
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
	setDefault(&o.TokenTTL, protocol.StreamTokenLifetime)
	setDefault(&o.InteractionTimeout, 30*time.Minute)
	setDefault(&o.IdleStop, 10*time.Minute)
	setDefault(&o.ActivityTimeout, 10*time.Minute)
	setDefault(&o.DrainTimeout, 2*time.Second)
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	o.LocalURL = strings.TrimRight(o.LocalURL, "/")
	return nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
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

// How long Run waits at its end: for interrupted turns (an agent that ignores an
// interrupt is killed after 6 s), for programs to close, and for goroutines that ignore
// their context. With DrainTimeout it stays below the 10 s that the end of a process may
// take.
const (
	turnsLimit     = 6500 * time.Millisecond
	programsLimit  = 500 * time.Millisecond  // at least; programs also get the time that turns and outboxes left
	endLimit       = 8500 * time.Millisecond // for all but goroutineLimit
	goroutineLimit = 250 * time.Millisecond
)

// Run brings events to brokers until ctx ends. Then it interrupts the agents,
// journals their finish, sends what it can within DrainTimeout, and ends every
// stream. Call it once.
func (h *Host) Run(ctx context.Context) error {
	h.enter(running)
	shellsEnded := h.RunShells(ctx)
	for _, s := range h.all() {
		s.mu.Lock()
		effects{s}.wakeDelivery()
		s.mu.Unlock()
	}
	<-ctx.Done()

	<-shellsEnded
	began := time.Now()
	h.enter(draining)
	h.stopTurns()
	h.drain()
	h.stopPosting()
	h.stopWork()
	h.activity.Stop()
	h.closeSessions(max(programsLimit, endLimit-time.Since(began)))
	h.enter(stopped)
	h.wait(&h.wg, goroutineLimit)
	if client, ok := h.opts.Poster.(interface{ CloseIdleConnections() }); ok {
		client.CloseIdleConnections()
	}
	return nil
}

// wait waits for wg, but no longer than most: an agent that never returns must not keep
// the process alive.
func (h *Host) wait(wg *sync.WaitGroup, most time.Duration) {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		h.opts.Log.Error("an agent does not end in time; the host ends without it")
	}
}

func (h *Host) stopTurns() {
	ctx, cancel := context.WithTimeout(context.Background(), turnsLimit)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range h.all() {
		s.mu.Lock()
		prompts{s}.dropQueue() // before the open turn ends, so that the finish of queued turns is posted too
		idle := s.turn == nil && s.state.Turn == nil
		s.mu.Unlock()
		if idle {
			continue
		}
		wg.Go(func() {
			if _, err := s.stopTurn(ctx, protocol.ReasonHostRestarted); err != nil {
				h.opts.Log.Error("a turn is still open; the next start ends it", "session", s.id, "error", err)
			}
		})
	}
	wg.Wait()
}

// drain waits until nothing is left to send, at most for DrainTimeout.
func (h *Host) drain() {
	limit := time.NewTimer(h.opts.DrainTimeout)
	defer limit.Stop()
	watch := h.WatchStatus()
	defer watch.Close()
	for h.hasUndelivered() {
		select {
		case <-watch.C:
		case <-limit.C:
			return
		}
	}
}

func (r *registry) hasUndelivered() bool {
	for _, s := range r.all() {
		s.mu.Lock()
		undelivered := s.state.Undelivered()
		s.mu.Unlock()
		if undelivered {
			return true
		}
	}
	return false
}

func (h *Host) closeSessions(most time.Duration) {
	var wg sync.WaitGroup
	for _, s := range h.all() {
		s.mu.Lock()
		for i := range s.timers {
			stopTimer(&s.timers[i])
		}
		s.stream.Close()
		if s.state.Delivery.Unsaved {
			_, _ = s.apply(core.PositionSaved{}) // best effort: otherwise events are sent twice, which is harmless
		}
		s.mu.Unlock()
		if !s.agent.closed() {
			wg.Go(s.agent.close)
		}
	}
	h.wait(&wg, most)
}

// registry holds the sessions of a host, its phase, and the watchers of its status.
type registry struct {
	create func(id string) *session // makes a session that has no row yet
	wg     sync.WaitGroup           // goroutines that spawn started

	mu       sync.Mutex
	sessions map[string]*session
	watchers map[chan struct{}]struct{}
	phase    phase
	notified map[string]string // broker id → the last incarnation that its sessions were notified of
}

func (r *registry) enter(p phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
}

// session returns an existing session, or CodeNotFound. Another goroutine may delete it
// before the caller holds its lock.
func (r *registry) session(id string) (*session, error) {
	r.mu.Lock()
	s := r.sessions[id]
	r.mu.Unlock()
	if s == nil || !s.durable.Load() {
		return nil, errSessionNotFound()
	}
	return s, nil
}

func (r *registry) hasSession(id string) bool {
	_, err := r.session(id)
	return err == nil
}

func errSessionNotFound() error {
	return &protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"}
}

// sessionToOpen returns the session with its lock held; it creates a missing one.
func (r *registry) sessionToOpen(id string) *session {
	for {
		r.mu.Lock()
		s := r.sessions[id]
		if s == nil {
			s = r.create(id)
			r.sessions[id] = s
		}
		r.mu.Unlock()
		s.mu.Lock()
		if !s.state.Deleted {
			return s
		}
		s.mu.Unlock()
	}
}

// all returns the sessions that have a row in the journal.
func (r *registry) all() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*session, 0, len(r.sessions))
	for _, s := range r.sessions {
		if s.durable.Load() {
			out = append(out, s)
		}
	}
	return out
}

// spawn runs f in a goroutine of the host's wait group. It returns false if the host has
// stopped.
func (r *registry) spawn(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == stopped {
		return false
	}
	r.wg.Go(f)
	return true
}

func (r *registry) in(phases ...phase) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(phases, r.phase)
}

// WatchStatus subscribes to changes of Status.
func (r *registry) WatchStatus() *StatusWatch {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[c] = struct{}{}
	return &StatusWatch{C: c, close: func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, c)
	}}
}

// changed signals the watchers.
func (r *registry) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
