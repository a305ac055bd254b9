package broker

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/crypto/seal"
	"bellhop/internal/wait"
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
	AuditStore
	// CreateHost returns CodeConflict when the name is taken.
	CreateHost(ctx context.Context, h *Host) error
	Hosts(ctx context.Context) ([]Host, error)
	UpdateHost(ctx context.Context, id string, change func(*Host) error) (*Host, error)
	// DeleteHost returns CodeConflict while tasks use the host. It does so too while the host has not
	// ended all sessions of deleted tasks, unless abandon is set. It returns how many such sessions
	// it gave up.
	DeleteHost(ctx context.Context, id string, abandon bool) (abandoned int64, err error)
	// HostCopies returns the second copies of hosts that had events refused since a time.
	HostCopies(ctx context.Context, since time.Time) ([]HostCopy, error)
	// SetHostHealth stores what a probe of a host at a URL found. names sets Host.Names, unless the host has another URL
	// by now.
	SetHostHealth(ctx context.Context, id string, health HostHealth, names bool, url string, at time.Time) error
}

// HostRequest registers a host.
type HostRequest struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Password string `json:"password"`

	Reach protocol.Reach `json:"reach,omitempty"` // "" = direct
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
	copies, err := ShownCopies(ctx, s.Store, nowUTC(s.Now))
	if err != nil {
		return nil, err
	}
	list := make([]protocol.Host, len(hosts))
	for i := range hosts {
		list[i] = *hosts[i].View()
		if c := CopyOf(&hosts[i], copies); c != nil {
			list[i].Copy = &protocol.HostCopy{Place: c.Place, SeenAt: c.At}
		}
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
	err := Audited(ctx, s.Store, s.Now, func(ctx context.Context) (*Act, error) {
		return hostAct(protocol.AuditHostCreated, host, nil), s.Store.CreateHost(ctx, host)
	})
	if err != nil {
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
	var host *Host
	err := Audited(ctx, s.Store, s.Now, func(ctx context.Context) (*Act, error) {
		var changed []string
		var err error
		host, err = s.Store.UpdateHost(ctx, id, func(h *Host) error {
			changed = s.patch(h, p)
			return checkHost(h)
		})
		if err != nil || len(changed) == 0 {
			return nil, err
		}
		return hostAct(protocol.AuditHostChanged, host, map[string]string{"changed": strings.Join(changed, " ")}), nil
	})
	if err != nil {
		return nil, err
	}
	return host.View(), nil
}

// patch applies p to h and returns the names of what it changed. A URL, also the present one, says that another server may
// serve there, which does not name its answers.
func (s *Hosts) patch(h *Host, p HostPatch) (changed []string) {
	if p.Name != nil && strings.TrimSpace(*p.Name) != h.Name {
		h.Name, changed = strings.TrimSpace(*p.Name), append(changed, "name")
	}
	h.Names = h.Names && p.URL == nil
	if p.URL != nil && trimURL(*p.URL) != h.URL {
		h.URL, h.Health, changed = trimURL(*p.URL), HostUnknown, append(changed, "url")
	}
	if p.Reach != nil && cmp.Or(*p.Reach, protocol.ReachDirect) != h.Reach {
		h.Reach, changed = cmp.Or(*p.Reach, protocol.ReachDirect), append(changed, "reach")
	}
	if p.Password != nil && *p.Password != h.Password.Reveal() {
		until := nowUTC(s.Now).Add(passwordGrace)
		h.PreviousPassword, h.PreviousUntil = h.Password, &until
		h.Password, changed = seal.NewSecret(*p.Password), append(changed, "password")
	}
	return changed
}

// ReconcileAct is the act of an operator who has a host send again what the database lacks.
func ReconcileAct(h *Host, sessions int) *Act {
	chosen := "all"
	if sessions > 0 {
		chosen = strconv.Itoa(sessions)
	}
	return hostAct(protocol.AuditHostReconciled, h, map[string]string{"sessions": chosen})
}

func hostAct(action protocol.AuditAction, h *Host, detail map[string]string) *Act {
	return &Act{
		Action: action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfHost, ID: h.ID, Name: h.Name}, Detail: detail,
	}
}

// Delete removes a host; CodeConflict while tasks use it. A host that still has sessions of
// deleted tasks is removed only with force: their agents may continue running.
func (s *Hosts) Delete(ctx context.Context, caller Caller, id string, force bool) error {
	if err := adminOnly(caller); err != nil {
		return err
	}
	var ends int64
	err := Audited(ctx, s.Store, s.Now, func(ctx context.Context) (*Act, error) {
		removed, err := s.find(ctx, id)
		if err != nil {
			return nil, err
		}
		if ends, err = s.Store.DeleteHost(ctx, id, force); err != nil {
			return nil, err
		}
		return hostAct(protocol.AuditHostRemoved, removed, map[string]string{
			"unendedSessions": strconv.FormatInt(ends, 10),
		}), nil
	})
	if err == nil && ends > 0 {
		s.Log.WarnContext(ctx, "host removed with sessions of deleted tasks", "host", id, "sessions", ends)
	}
	return err
}

// find returns the host with an id. Its passwords stay sealed, because a damaged one must not
// prevent the removal of its host.
func (s *Hosts) find(ctx context.Context, id string) (*Host, error) {
	all, err := s.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, protocol.Errorf(protocol.CodeNotFound, "Host not found")
}

const (
	probeEvery   = 10 * time.Second
	probesAtOnce = 16
	probeTimeout = 5 * time.Second
	probeAgain   = time.Second
)

// Run probes the hosts until ctx ends.
func (s *Hosts) Run(ctx context.Context) error {
	wait.Every(ctx, probeEvery, s.Probe)
	return nil
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
	health, names, err := s.health(ctx, h)
	// One slow answer, of a disk that stalls for seconds, must not mark a host and its tasks as offline.
	if health == HostUnreachable && h.Health != HostUnreachable && wait.For(ctx, probeAgain) {
		health, names, err = s.health(ctx, h)
	}
	if ctx.Err() != nil {
		return
	}
	if health != h.Health {
		s.Log.InfoContext(ctx, "host health changed", "host", h.Name, "health", string(health), "err", err)
	}
	if err := s.Store.SetHostHealth(ctx, h.ID, health, names, h.URL, nowUTC(s.Now)); err != nil {
		s.logFailure(ctx, "store health", err)
	}
	if s.Ends != nil && health != HostUnreachable && (h.Health == HostUnreachable || h.Health == HostUnknown) {
		s.Ends.hostReturned(ctx, h.ID)
	}
}

// health asks a host once. An answer of something else is none.
func (s *Hosts) health(ctx context.Context, h Host) (health HostHealth, names bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	health, names, err = s.Link.Ready(ctx, Target{URL: trimURL(h.URL), Names: h.Names})
	if err != nil {
		return HostUnreachable, false, err
	}
	return health, names, nil
}

func (s *Hosts) logFailure(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.Log.WarnContext(ctx, "hosts not probed", "step", what, "error", err)
	}
}
