package broker

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/protocol"
)

const (
	offerAge     = 30 * time.Second // for how long a host's answer is used again
	offerTimeout = 4 * time.Second
	readyTimeout = 2 * time.Second
)

// Offers lists the agents and projects of the registered hosts, from the answers of the hosts.
type Offers struct {
	Store   HostLister
	Targets *Targets
	Link    OfferLink
	Now     func() time.Time
	Log     *slog.Logger

	DefaultAgent string // of tasks that name none; "" = that of their host

	mu    sync.Mutex
	known map[string]*hostOffer // by host id
}

// HostLister lists the registered hosts.
type HostLister interface {
	Hosts(ctx context.Context) ([]Host, error)
}

// OfferLink asks hosts for their offers; broker/hosts implements it.
type OfferLink interface {
	// Offer is CodeNotFound if the host makes none, such as a basic host.
	Offer(ctx context.Context, t Target) (*protocol.HostOffer, error)
	// Ready is that of Link.
	Ready(ctx context.Context, t Target) (health HostHealth, names bool, err error)
}

// hostOffer is the last answer of a host. asking is held during a request to the host, so that
// concurrent calls share one request.
type hostOffer struct {
	asking sync.Mutex

	offer     *protocol.HostOffer // nil: none yet
	offeredAt time.Time
	askedAt   time.Time
	url       string // of the host that was asked
	err       error  // of the last request

	installed string // the ended installations of the host, as the broker knew them last
}

// List returns the offers of all hosts. It asks those whose answer is older than half a
// minute, sixteen at a time; each sixteen offline hosts delay it by at most four seconds.
func (s *Offers) List(ctx context.Context) (*protocol.OfferList, error) {
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	list := &protocol.OfferList{Hosts: make([]protocol.OfferingHost, len(hosts)), DefaultAgent: s.DefaultAgent}
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for i := range hosts {
		group.Go(func() error {
			list.Hosts[i] = s.ofHost(ctx, &hosts[i])
			return nil
		})
	}
	_ = group.Wait() // a failure is a problem of its host
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.forget(hosts)
	slices.SortFunc(list.Hosts, func(a, b protocol.OfferingHost) int { return cmp.Compare(a.Name, b.Name) })
	list.Agents = installedAgents(list.Hosts)
	return list, nil
}

// fit says how well a host suits a task.
type fit int

const (
	fitOffered fit = iota // the host offers what the task names
	fitUnknown            // the host describes nothing, or has no key of the agent's language model
	fitLacking            // the host does not have the agent, the project or the branch
)

// fits returns how well hosts suit a task by their ids. It asks them as List does. For a task that
// names neither an agent nor a project, or if s is nil, every host is fitOffered.
func (s *Offers) fits(ctx context.Context, hosts []Host, t *Task) map[string]fit {
	if s == nil || (t.Agent == "" && t.Project == "") || len(hosts) < 2 {
		return nil
	}
	found := make([]fit, len(hosts))
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for i := range hosts {
		group.Go(func() error {
			found[i] = fitOf(s.ofHost(ctx, &hosts[i]).Offer, t)
			return nil
		})
	}
	_ = group.Wait() // a failure leaves the host's last offer, or none
	byID := make(map[string]fit, len(hosts))
	for i := range hosts {
		byID[hosts[i].ID] = found[i]
	}
	return byID
}

// check returns CodeInvalid if a host is known not to have a task's agent or project. A host that has told nothing yet is
// not asked.
func (s *Offers) check(ctx context.Context, hostID string, t *Task) error {
	if s == nil || !s.lacks(hostID, t) {
		return nil
	}
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.ID == hostID })
	if i < 0 {
		return nil
	}
	return lackOf(s.ofHost(ctx, &hosts[i]).Offer, t) // it may have become an agent or a project since
}

// lacks reports whether the last offer of a host lacks what a task names.
func (s *Offers) lacks(hostID string, t *Task) bool {
	known := s.entry(hostID)
	known.asking.Lock()
	defer known.asking.Unlock()
	return lackOf(known.offer, t) != nil
}

func lackOf(offer *protocol.HostOffer, t *Task) error {
	if offer == nil {
		return nil
	}
	agents, projects := make([]string, len(offer.Agents)), make([]string, len(offer.Projects))
	for i := range agents {
		agents[i] = offer.Agents[i].ID
	}
	for i := range projects {
		projects[i] = offer.Projects[i].Name
	}
	switch {
	case t.Agent != "" && !slices.Contains(agents, t.Agent):
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The agent host has no such agent", Hint: "It has: " + strings.Join(agents, ", "),
		}
	case t.Project != "" && !slices.Contains(projects, t.Project):
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The agent host has no such project", Hint: "It has: " + strings.Join(projects, ", "),
		}
	}
	return nil
}

// isReady asks a host whether it takes turns now. If s is nil, every host does.
func (s *Offers) isReady(ctx context.Context, h *Host) bool {
	if s == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	health, _, err := s.Link.Ready(ctx, Target{URL: trimURL(h.URL), Names: h.Names})
	return err == nil && takesTurns(health)
}

func fitOf(offer *protocol.HostOffer, t *Task) fit {
	if offer == nil {
		return fitUnknown
	}
	isNamed := func(p protocol.OfferedProject) bool { return p.Name == t.Project && mayHaveBranch(&p, t.Branch) }
	if t.Project != "" && !slices.ContainsFunc(offer.Projects, isNamed) {
		return fitLacking
	}
	if t.Agent == "" {
		return fitOffered
	}
	i := slices.IndexFunc(offer.Agents, func(a protocol.OfferedAgent) bool { return a.ID == t.Agent && a.Installed })
	switch {
	case i < 0:
		return fitLacking
	case offer.Agents[i].HasKey != nil && !*offer.Agents[i].HasKey:
		return fitUnknown
	}
	return fitOffered
}

func (s *Offers) ofHost(ctx context.Context, h *Host) protocol.OfferingHost {
	known := s.entry(h.ID)
	known.asking.Lock()
	defer known.asking.Unlock()
	if known.url != h.URL { // registered at another address: the old answer is of another host
		known.url, known.offer, known.askedAt = h.URL, nil, time.Time{}
	}
	if now := s.Now(); known.askedAt.IsZero() || now.Sub(known.askedAt) >= offerAge {
		offer, err := s.ask(ctx, h)
		if ctx.Err() == nil { // else the caller has left, and the host may be online
			known.askedAt, known.err = now, err
		}
		if err == nil {
			known.offer, known.offeredAt = offer, now
		}
	}
	return known.view(h)
}

// installed has the host asked again if other installations have ended there than at the last call.
func (s *Offers) installed(hostID, ended string) {
	known := s.entry(hostID)
	known.asking.Lock()
	defer known.asking.Unlock()
	if known.installed != ended {
		known.installed, known.askedAt = ended, time.Time{}
	}
}

func (s *Offers) ask(ctx context.Context, h *Host) (*protocol.HostOffer, error) {
	opened, err := s.Targets.Store.Host(ctx, h.ID) // with its passwords
	if err != nil {
		return nil, err
	}
	callCtx, cancel := context.WithTimeout(ctx, offerTimeout)
	defer cancel()
	offer, err := s.Link.Offer(callCtx, s.Targets.OfHost(opened))
	if err != nil && ctx.Err() == nil {
		s.Log.InfoContext(ctx, "a host makes no offer", "host", h.Name, "error", err)
	}
	return offer, err
}

func (k *hostOffer) view(h *Host) protocol.OfferingHost {
	shown := protocol.OfferingHost{HostID: h.ID, Name: h.Name, Online: k.err == nil, Offer: k.offer}
	if at := k.offeredAt; k.offer != nil {
		shown.OfferedAt = &at
	}
	switch {
	case k.err == nil:
	case protocol.CodeOf(k.err) == protocol.CodeNotFound:
		shown.Online = true
		shown.Problem = "The host does not describe its agents: it is a basic agent server"
	default:
		shown.Problem = "The host did not answer"
	}
	return shown
}

func (s *Offers) entry(hostID string) *hostOffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*hostOffer{}
	}
	if s.known[hostID] == nil {
		s.known[hostID] = &hostOffer{}
	}
	return s.known[hostID]
}

// forget removes the answers of hosts that are not registered any more.
func (s *Offers) forget(hosts []Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.known {
		if !slices.ContainsFunc(hosts, func(h Host) bool { return h.ID == id }) {
			delete(s.known, id)
		}
	}
}

// installedAgents joins the agents of all offers by id.
func installedAgents(hosts []protocol.OfferingHost) []protocol.OfferedChoice {
	out := []protocol.OfferedChoice{}
	for _, h := range hosts {
		if h.Offer == nil {
			continue
		}
		for _, agent := range h.Offer.Agents {
			i := slices.IndexFunc(out, func(c protocol.OfferedChoice) bool { return c.ID == agent.ID })
			switch {
			case !agent.Installed:
			case i < 0:
				out = append(out, protocol.OfferedChoice{ID: agent.ID, Title: agent.Title, HostIDs: []string{h.HostID}})
			default:
				out[i].HostIDs = append(out[i].HostIDs, h.HostID)
			}
		}
	}
	slices.SortFunc(out, func(a, b protocol.OfferedChoice) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
