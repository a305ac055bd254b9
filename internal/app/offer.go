package app

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"bellhop/agenthost"
	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/protocol"
)

const (
	offerAge     = 20 * time.Second // a younger offer is answered from memory
	offerLimit   = 2 * time.Minute  // for one description: programs of an unknown version are started
	offersAtOnce = 4                // programs that are started side by side
)

// offers describes the agents and projects of a host.
type offers struct {
	set      *providerSet
	projects func(context.Context) []protocol.OfferedProject
	now      func() time.Time
	flight   singleflight.Group

	mu      sync.Mutex
	last    *protocol.HostOffer
	at      time.Time
	changes int // since the host started; a description that began before a change is not kept
}

// projectLister is a *workspace.Manager.
type projectLister interface {
	Projects(ctx context.Context) []protocol.OfferedProject
}

func newOffers(set *providerSet, projects projectLister) *offers {
	return &offers{set: set, projects: projects.Projects, now: time.Now}
}

// Current returns the host's offer, which is at most offerAge old. When ctx ends first, the
// description continues and the next call gets it.
func (o *offers) Current(ctx context.Context) (*protocol.HostOffer, error) {
	o.mu.Lock()
	last, at := o.last, o.at
	o.mu.Unlock()
	if last != nil && o.now().Sub(at) < offerAge {
		return last, nil
	}
	described := o.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offerLimit)
		defer cancel()
		o.mu.Lock()
		changes := o.changes
		o.mu.Unlock()
		offer := o.describe(ctx)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.changes == changes {
			o.last, o.at = offer, o.now()
		}
		return offer, nil
	})
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case result := <-described:
		offer, _ := result.Val.(*protocol.HostOffer)
		return offer, result.Err
	}
}

// Changed has the next Current describe the host again, such as after the installation of a program.
func (o *offers) Changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = nil
	o.changes++
	o.flight.Forget("")
}

func (o *offers) describe(ctx context.Context) *protocol.HostOffer {
	names := slices.Sorted(maps.Keys(o.set.providers))
	offer := &protocol.HostOffer{
		DefaultAgent: o.set.config.defaultAgent(), Agents: make([]protocol.OfferedAgent, len(names)),
		PermissionModes: protocol.PermissionModes(), Version: o.set.config.Version,
	}
	var group errgroup.Group
	group.SetLimit(offersAtOnce)
	for i, name := range names {
		group.Go(func() error {
			offer.Agents[i] = o.set.describe(ctx, name)
			return nil
		})
	}
	offer.Projects = o.projects(ctx)
	if sandbox := o.set.config.sandbox; sandbox != nil {
		offer.Sandbox = sandbox.Level().Offered()
	}
	_ = group.Wait() // a failure is a problem of its agent
	return offer
}

// describe returns the description of an agent. It starts no session.
func (a *providerSet) describe(ctx context.Context, name string) protocol.OfferedAgent {
	entry, hasEntry := a.entries[name]
	kind, _ := agents.Find(entry.KindOf(name)) // the file was checked
	shown := protocol.OfferedAgent{
		ID: name, Title: name, Kind: kind.Kind, DefaultModel: a.defaultModel(name, entry),
		Models: []protocol.Choice{}, Modes: []protocol.Choice{},
	}
	if chooser, ok := a.providers[name].(agenthost.Chooser); ok {
		models, modes := chooser.Choices()
		shown.Models, shown.Modes = append(shown.Models, models...), append(shown.Modes, modes...)
	}
	if taker, ok := a.providers[name].(agenthost.Taker); ok {
		shown.Attachments = taker.Attachments()
	}
	switch {
	case name == agents.Demo:
		shown.Title, shown.Installed, shown.Version, shown.Scripted = demoTitle, true, a.config.Version, true
	case !hasEntry || a.config.Providers[name] != nil: // part of this process
		shown.Installed = true
	default:
		if kind.Kind == name {
			shown.Title = kind.Title
		}
		shown.HasKey, shown.Keys = hasKey(kind, entry, a.config.agentEnv(kind, entry)), keyVariables(kind)
		shown.Version, shown.Problem, shown.Hint = a.findVersion(ctx, kind.Kind, name, entry)
		shown.Installed = shown.Problem == ""
		shown.Program = a.installableProgram(kind.Kind, entry)
	}
	return shown
}

// installableProgram returns the program that administrators can have the host install for an agent; "" if they
// cannot, or if its entry names another program or version.
func (a *providerSet) installableProgram(kind string, entry agents.Entry) string {
	program, want := kind, wanted(entry)
	if kind == agents.KindACP {
		program, want = entry.Command[0], setup.Want{}
	}
	agent, err := a.cache.Agent(program)
	if err != nil || a.installations == nil || !want.Accepts(agent) || !a.installations.Can(program) {
		return ""
	}
	return program
}

// demoTitle says what answers wherever the agent is named.
const demoTitle = "Scripted demo agent"

// keyVariables returns the variables of which one has to hold a key of the agent's language model.
func keyVariables(kind agents.Agent) (names []string) {
	for _, api := range kind.ModelAPIs() {
		names = append(names, api.KeyVariables()...)
	}
	return names
}

func (a *providerSet) defaultModel(name string, entry agents.Entry) string {
	if a.config.Model != "" && name == a.config.defaultAgent() {
		return a.config.Model
	}
	return entry.Model
}

// findVersion returns the version of an agent's program, "" for an unknown one, or a problem.
// The problem names no path, because every user of a broker sees it.
func (a *providerSet) findVersion(
	ctx context.Context, kind, name string, entry agents.Entry,
) (version, problem, hint string) {
	var err error
	switch kind {
	case agents.KindJSONL:
		_, err = exec.LookPath(entry.Command[0])
	case agents.KindACP:
		_, err = a.findACP(name, entry.Command)(ctx)
		if agent, unknown := a.cache.Agent(entry.Command[0]); unknown == nil && err == nil {
			version = agent.Version
		}
	default:
		version, err = a.testedVersion(ctx, kind, entry)
	}
	switch {
	case err == nil:
		return version, "", ""
	case protocol.CodeOf(err) == protocol.CodeUnavailable:
		return "", "Its program is not installed on the host", "The operator installs it: bellhop agents install " +
			kindProgram(kind, entry)
	default:
		return "", "Its program cannot be used", "The operator of the host sees why: bellhop agents list"
	}
}

func (a *providerSet) testedVersion(ctx context.Context, kind string, entry agents.Entry) (string, error) {
	program, err := a.cache.Find(ctx, kind, wanted(entry))
	return program.Version, err
}

// kindProgram returns the name by which 'bellhop agents install' knows the program.
func kindProgram(kind string, entry agents.Entry) string {
	if kind == agents.KindACP {
		return entry.Command[0]
	}
	return kind
}

// hasKey reports whether an agent's environment has a key of a language model. It is nil where
// the agent may have a key that the host does not know, or needs none.
func hasKey(kind agents.Agent, entry agents.Entry, env []string) *bool {
	if len(kind.ModelAPIs()) == 0 {
		return nil
	}
	found := entry.Login != ""
	for _, variable := range keyVariables(kind) {
		found = found || slices.ContainsFunc(env, func(pair string) bool {
			value, isKey := strings.CutPrefix(pair, variable+"=")
			return isKey && value != ""
		})
	}
	if !found && (kind.Kind == agents.KindACP || entry.Config != "") {
		return nil
	}
	return &found
}
