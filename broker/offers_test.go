package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// offeringHosts answers with offers by URL.
type offeringHosts struct {
	mu     sync.Mutex
	offers map[string]*protocol.HostOffer
	fail   map[string]error
	down   map[string]bool
	full   map[string]bool
	asked  map[string]int
}

func (h *offeringHosts) Offer(_ context.Context, t broker.Target) (*protocol.HostOffer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[t.URL+" "+t.Passwords[0].Reveal()]++
	if err := h.fail[t.URL]; err != nil {
		return nil, err
	}
	return h.offers[t.URL], nil
}

func (h *offeringHosts) Ready(_ context.Context, t broker.Target) (broker.HostHealth, bool, error) {
	switch {
	case h.down[t.URL]:
		return "", false, errors.New("no route to host")
	case h.full[t.URL]:
		return broker.HostFull, false, nil
	}
	return broker.HostOK, false, nil
}

func agentsOf(list ...protocol.OfferedAgent) *protocol.HostOffer {
	return &protocol.HostOffer{DefaultAgent: list[0].ID, Agents: list, Projects: []protocol.OfferedProject{}}
}

func TestTheOffersOfHostsAreTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	demo, claude := protocol.OfferedAgent{
		ID: "demo", Title: "Demo", Installed: true,
	}, protocol.OfferedAgent{ID: "claude", Title: "Claude"}
	installed := claude
	installed.Installed = true
	link := &offeringHosts{
		offers: map[string]*protocol.HostOffer{"http://a": agentsOf(demo, claude), "http://b": agentsOf(installed, demo)},
		fail:   map[string]error{"http://c": protocol.Errorf(protocol.CodeNotFound, "no such route")},
		asked:  map[string]int{},
	}
	s := &broker.Offers{
		Store: k.store, Targets: k.targets, Link: link, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	for _, id := range []string{"c", "b", "a"} {
		k.must(k.store.CreateHost(k.ctx, &broker.Host{
			ID: id, Name: "host " + id, URL: "http://" + id, Password: seal.NewSecret("pw"),
			Health: broker.HostOK, CreatedAt: start,
		}))
	}
	shows := func(what, agents, hosts string) {
		t.Helper()
		list, err := s.List(k.ctx)
		k.must(err)
		var gotAgents, gotHosts []string
		for _, a := range list.Agents {
			gotAgents = append(gotAgents, a.ID+"@"+strings.Join(a.HostIDs, "+"))
		}
		for _, h := range list.Hosts {
			line := h.Name
			if h.Online {
				line += " online"
			}
			if h.Offer != nil {
				line += " default " + h.Offer.DefaultAgent + " " + h.OfferedAt.Sub(start).String()
			}
			if h.Problem != "" {
				line += " problem: " + strings.SplitN(h.Problem, ":", 2)[0]
			}
			gotHosts = append(gotHosts, line)
		}
		if got := strings.Join(gotAgents, " "); got != agents {
			t.Errorf("%s: agents %q, want %q", what, got, agents)
		}
		if got := strings.Join(gotHosts, "; "); got != hosts {
			t.Errorf("%s: hosts\n%s\nwant\n%s", what, got, hosts)
		}
	}
	const older = "; host c online problem: The host does not describe its agents"
	first := "host a online default demo 0s; host b online default claude 0s" + older
	shows("the first list", "claude@b demo@a+b", first)
	link.fail["http://b"] = errors.New("no route to host")
	shows("within the age of an answer", "claude@b demo@a+b", first)
	if n := link.asked["http://a pw"]; n != 1 {
		t.Errorf("the host was asked %d times within its answer's age", n)
	}
	k.clock.Advance(30 * time.Second)
	shows("an offline host is named with its last offer", "claude@b demo@a+b",
		"host a online default demo 30s; host b default claude 0s problem: The host did not answer"+older)
	delete(link.fail, "http://b")
	k.clock.Advance(30 * time.Second)
	shows("the host is online again", "claude@b demo@a+b",
		"host a online default demo 1m0s; host b online default claude 1m0s"+older)

	_, err := k.store.UpdateHost(k.ctx, "b", func(h *broker.Host) error { h.URL = "http://c"; return nil })
	k.must(err)
	shows("another address is another host", "demo@a",
		"host a online default demo 1m0s; host b online problem: The host does not describe its agents"+older)
	_, err = k.store.DeleteHost(k.ctx, "b", false)
	k.must(err)
	shows("a removed host is gone", "demo@a", "host a online default demo 1m0s"+older)
}

func TestWithoutHostsTheOfferHasEmptyLists(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	s := &broker.Offers{Store: k.store, Targets: k.targets, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler)}
	list, err := s.List(k.ctx)
	k.must(err)
	if raw, err := json.Marshal(list); err != nil || string(raw) != `{"agents":[],"hosts":[]}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// A task that names no host goes to one that offers what it names, however busy it is.
func TestATaskGoesToAHostThatOffersItsAgentAndProject(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	keyless := false
	demo := protocol.OfferedAgent{ID: "demo", Installed: true}
	with := func(offer *protocol.HostOffer, projects ...string) *protocol.HostOffer {
		for _, name := range projects {
			offer.Projects = append(offer.Projects, protocol.OfferedProject{Name: name})
		}
		return offer
	}
	link := &offeringHosts{
		offers: map[string]*protocol.HostOffer{
			"http://a": agentsOf(demo, protocol.OfferedAgent{ID: "claude"}, protocol.OfferedAgent{
				ID: "codex", Installed: true, HasKey: &keyless,
			}),
			"http://b": with(agentsOf(demo, protocol.OfferedAgent{ID: "claude", Installed: true}), "shop"),
			"http://c": with(agentsOf(demo, protocol.OfferedAgent{ID: "codex", Installed: true}), "shop"),
		},
		fail: map[string]error{"http://d": protocol.Errorf(protocol.CodeNotFound, "no such route")}, asked: map[string]int{},
	}
	k.tasks.Offers = &broker.Offers{
		Store: k.store, Targets: k.targets, Link: link, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		k.must(k.store.CreateHost(k.ctx, &broker.Host{
			ID: id, Name: "host " + id, URL: "http://" + id, Password: seal.NewSecret("pw"),
			Health: broker.HostOK, CreatedAt: start,
		}))
	}
	for _, c := range []struct{ agent, project, want string }{
		{"demo", "", "a"},
		{"claude", "", "b"},
		{"claude", "shop", "b"},
		{"codex", "", "c"}, // a has no key for it
		{"codex", "shop", "c"},
		{"", "shop", "b"},
		{"gemini", "", "d"}, // which may have it: it does not describe itself
		{"claude", "elsewhere", "d"},
	} {
		task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
			Title: "t", Agent: c.agent, Project: c.project,
		})
		k.must(err)
		if task.HostID != c.want {
			t.Errorf("agent %q of project %q is on host %q, want %q", c.agent, c.project, task.HostID, c.want)
		}
	}
	link.offers["http://b"].Projects[0].Branches = []string{"main"}
	link.offers["http://c"].Projects[0].Branches = []string{"main", "next"}
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "t", Project: "shop", Branch: "next"})
	k.must(err)
	if task.HostID != "c" {
		t.Errorf("the branch next of the project is on host %q", task.HostID)
	}
	if n := link.asked["http://a pw"]; n != 1 {
		t.Errorf("the host was asked %d times within its answer's age", n)
	}
}

// The last probe of a host is some seconds old when the host ends.
func TestATaskGoesToAHostThatAnswers(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	demo := protocol.OfferedAgent{ID: "demo", Installed: true}
	link := &offeringHosts{
		offers: map[string]*protocol.HostOffer{
			"http://a": agentsOf(demo), "http://b": agentsOf(demo), "http://c": agentsOf(protocol.OfferedAgent{ID: "codex"}),
		},
		asked: map[string]int{}, down: map[string]bool{}, full: map[string]bool{},
	}
	k.tasks.Offers = &broker.Offers{
		Store: k.store, Targets: k.targets, Link: link, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	for _, id := range []string{"a", "b", "c"} {
		k.must(k.store.CreateHost(k.ctx, &broker.Host{
			ID: id, Name: "host " + id, URL: "http://" + id, Password: seal.NewSecret("pw"),
			Health: broker.HostOK, CreatedAt: start,
		}))
	}
	created := func() *protocol.Task {
		t.Helper()
		task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "t", Agent: "demo"})
		k.must(err)
		return task
	}
	on := func(what string, task *protocol.Task, want string) {
		t.Helper()
		if task.HostID != want {
			t.Errorf("%s: on host %q, want %q", what, task.HostID, want)
		}
	}
	on("all answer", created(), "a")
	link.down["http://a"] = true
	on("the first has ended", created(), "b")
	link.down["http://b"], link.full["http://b"] = false, true
	on("the second is full, and the third does not have the agent", created(), "a")
	delete(link.full, "http://b")
	link.down["http://b"] = true
	on("none answers", created(), "a")
}

func TestATaskForAnAgentThatItsHostDoesNotHaveIsRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	offer := agentsOf(protocol.OfferedAgent{ID: "demo", Installed: true})
	offer.Projects = []protocol.OfferedProject{{Name: "shop"}}
	link := &offeringHosts{offers: map[string]*protocol.HostOffer{"http://a": offer}, asked: map[string]int{}}
	offers := &broker.Offers{
		Store: k.store, Targets: k.targets, Link: link, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	k.must(k.store.CreateHost(k.ctx, &broker.Host{ID: "a", Name: "a", URL: "http://a", Password: seal.NewSecret("pw")}))
	k.tasks.Offers = offers
	create := func(agent, project string) error {
		_, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
			Title: "x", Agent: agent, HostID: "a", Project: project,
		})
		return err
	}
	k.must(create("claude", "")) // the host has told nothing yet: its own answer decides at the check-in
	_, err := offers.List(k.ctx)
	k.must(err)
	k.must(create("demo", "shop"))
	for _, c := range [][2]string{{"claude", ""}, {"demo", "shops"}} {
		if err := create(c[0], c[1]); protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "no such") {
			t.Errorf("agent %q, project %q: %v", c[0], c[1], err)
		}
	}
	link.offers["http://a"] = agentsOf(protocol.OfferedAgent{ID: "claude", Installed: true})
	k.clock.Advance(time.Minute)
	k.must(create("claude", ""))
}
