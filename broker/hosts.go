package broker

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Hosts registers and probes agent hosts. Only administrators may change or list
// them; others get CodeForbidden.
type Hosts struct {
	Store HostStore
	Link  Link
	Ends  *SessionEnds // hastened when a host can be reached again; may be nil
	Now   func() time.Time
	Log   *slog.Logger
}

// HostStore stores registered agent hosts. Hosts leaves the passwords sealed, so
// that one damaged row does not break the list.
type HostStore interface {
	// CreateHost returns CodeConflict when the name is taken.
	CreateHost(ctx context.Context, h *Host) error
	Hosts(ctx context.Context) ([]Host, error)
	UpdateHost(ctx context.Context, id string, change func(*Host) error) (*Host, error)
	// DeleteHost returns CodeConflict while tasks use the host, and unless abandon is set also
	// while it owes ends of sessions. It returns how many ends it removed.
	DeleteHost(ctx context.Context, id string, abandon bool) (ends int64, err error)
	SetHostHealth(ctx context.Context, id string, health HostHealth, at time.Time) error
}

// HostRequest registers a host.
type HostRequest struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Password string `json:"password"`

	Reach protocol.Reach `json:"reach"` // "" = direct
}

// HostPatch changes the members that are not nil.
type HostPatch struct {
	Name     *string `json:"name"`
	URL      *string `json:"url"`
	Password *string `json:"password"`

	Reach *protocol.Reach `json:"reach"`
}

func adminOnly(caller Caller) error {
	if caller.Admin {
		return nil
	}
	return protocol.Errorf(protocol.CodeForbidden, "Only administrators manage hosts")
}

// List returns all hosts by name.
func (s *Hosts) List(ctx context.Context, caller Caller) ([]protocol.Host, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]protocol.Host, len(hosts))
	for i := range hosts {
		list[i] = *hosts[i].View()
	}
	return list, nil
}

// Create registers a host. Its health is unknown until the next probe.
func (s *Hosts) Create(ctx context.Context, caller Caller, req *HostRequest) (*protocol.Host, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	host := &Host{
		ID: protocol.NewID(), Name: strings.TrimSpace(req.Name), URL: trimURL(req.URL),
		Password: seal.NewSecret(req.Password), Health: HostUnknown, CreatedAt: nowUTC(s.Now),
		Reach: cmp.Or(req.Reach, protocol.ReachDirect),
	}
	if err := checkHost(host); err != nil {
		return nil, err
	}
	if err := s.Store.CreateHost(ctx, host); err != nil {
		return nil, err
	}
	return host.View(), nil
}

func checkHost(h *Host) error {
	switch {
	case h.Name == "":
		return protocol.Errorf(protocol.CodeInvalid, "name is required")
	case len(h.Name) > maxName:
		return protocol.Errorf(protocol.CodeInvalid, "name is longer than %d bytes", maxName)
	case h.URL == "":
		return protocol.Errorf(protocol.CodeInvalid, "url is required")
	case h.Password.IsZero():
		return protocol.Errorf(protocol.CodeInvalid, "password is required")
	}
	if err := checkReach(h.Reach); err != nil {
		return err
	}
	return checkHTTPURL("url", h.URL)
}

// checkReach checks the reach of a request.
func checkReach(r protocol.Reach) error {
	switch r {
	case "", protocol.ReachDirect, protocol.ReachRelay:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, `reach must be "direct" or "relay"`)
}

// Update changes a host; its old password stays valid for 24 h.
func (s *Hosts) Update(ctx context.Context, caller Caller, id string, p HostPatch) (*protocol.Host, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	host, err := s.Store.UpdateHost(ctx, id, func(h *Host) error {
		if p.Name != nil {
			h.Name = strings.TrimSpace(*p.Name)
		}
		if p.URL != nil && trimURL(*p.URL) != h.URL {
			h.URL, h.Health = trimURL(*p.URL), HostUnknown
		}
		if p.Reach != nil {
			h.Reach = cmp.Or(*p.Reach, protocol.ReachDirect)
		}
		if p.Password != nil && *p.Password != h.Password.Reveal() {
			until := nowUTC(s.Now).Add(passwordGrace)
			h.PreviousPassword, h.PreviousUntil = h.Password, &until
			h.Password = seal.NewSecret(*p.Password)
		}
		return checkHost(h)
	})
	if err != nil {
		return nil, err
	}
	return host.View(), nil
}

// Delete removes a host; CodeConflict while tasks use it. A host that still has sessions of
// deleted tasks is removed only with force: their agents may go on running.
func (s *Hosts) Delete(ctx context.Context, caller Caller, id string, force bool) error {
	if err := adminOnly(caller); err != nil {
		return err
	}
	ends, err := s.Store.DeleteHost(ctx, id, force)
	if err == nil && ends > 0 {
		s.Log.WarnContext(ctx, "host removed with sessions of deleted tasks", "host", id, "sessions", ends)
	}
	return err
}

const (
	probeEvery   = 10 * time.Second
	probesAtOnce = 16
	probeTimeout = 5 * time.Second
)

// Run probes the hosts until ctx ends.
func (s *Hosts) Run(ctx context.Context) error {
	repeat(ctx, probeEvery, s.Probe)
	return nil
}

// repeat calls f at once and then every so often, until ctx ends.
func repeat(ctx context.Context, every time.Duration, f func(context.Context)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Probe checks once whether each host is ready.
func (s *Hosts) Probe(ctx context.Context) {
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		s.logFailure(ctx, "list", err)
		return
	}
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for _, h := range hosts {
		group.Go(func() error {
			s.probe(ctx, h)
			return nil
		})
	}
	_ = group.Wait() // the probes log their own errors
}

func (s *Hosts) probe(ctx context.Context, h Host) {
	probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	health, err := s.Link.Ready(probeCtx, Target{URL: trimURL(h.URL)})
	if err != nil {
		health = HostUnreachable
	}
	if ctx.Err() != nil {
		return
	}
	if health != h.Health {
		s.Log.InfoContext(ctx, "host health changed", "host", h.Name, "health", string(health))
	}
	if err := s.Store.SetHostHealth(ctx, h.ID, health, nowUTC(s.Now)); err != nil {
		s.logFailure(ctx, "store health", err)
	}
	if s.Ends != nil && health != HostUnreachable && (h.Health == HostUnreachable || h.Health == HostUnknown) {
		s.Ends.hostReturned(ctx, h.ID)
	}
}

func (s *Hosts) logFailure(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.Log.WarnContext(ctx, "hosts not probed", "step", what, "error", err)
	}
}
