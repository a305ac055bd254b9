package feed_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/broker/feed"
	"bellhop/protocol"
)

// agents is an AgentSource of one user.
type agents struct {
	mu    sync.Mutex
	hints []protocol.AgentHint
}

func (a *agents) set(hint protocol.AgentHint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hints = []protocol.AgentHint{hint}
}

func (a *agents) Hints(_ context.Context, userID string) ([]protocol.AgentHint, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if userID != user {
		return nil, nil
	}
	return slices.Clone(a.hints), nil
}

func (a *agents) Revs(_ context.Context, userIDs []string, _ time.Time) (map[string]map[string]int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	revs := map[string]map[string]int64{}
	if slices.Contains(userIDs, user) && len(a.hints) > 0 {
		revs[user] = map[string]int64{a.hints[0].AgentSessionID: a.hints[0].Rev}
	}
	return revs, nil
}

func agentHint(rev int64, event string) protocol.AgentHint {
	return protocol.AgentHint{AgentSessionID: "s", Rev: rev, Status: protocol.AgentActive, Event: event, SourceID: "x"}
}

func TestTheFeedOfAUserShowsAgents(t *testing.T) {
	t.Parallel()
	source := &agents{}
	source.set(agentHint(1, protocol.AgentEventConnected))
	f := feed.New(newMemory(), feed.Options{Agents: source, Log: discard})
	r := connect(t, server(t, f, always).URL+"/api/events", "")
	r.want(`1 hello {"tasks":[],"agentSessions":[{"agentSessionId":"s","rev":1,"status":"active","event":"connected","sourceId":"x"}]}`)
	source.set(agentHint(2, protocol.AgentEventMessage))
	f.AgentChanged("another")
	f.AgentChanged(user)
	r.want(`2 agent {"agentSessionId":"s","rev":2,"status":"active","event":"message","sourceId":"x"}`)
}

func TestAnAgentChangedByAnotherReplicaIsPolled(t *testing.T) {
	t.Parallel()
	source := &agents{}
	f := feed.New(newMemory(), feed.Options{Agents: source, Poll: time.Millisecond, Log: discard})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) })
	defer running.Wait()
	defer cancel()
	r := connect(t, server(t, f, always).URL+"/api/events", "")
	r.want(`1 hello {"tasks":[]}`)
	source.set(agentHint(7, protocol.AgentEventFailed))
	r.want(`2 agent {"agentSessionId":"s","rev":7,"status":"active","event":"delivery_failed","sourceId":"x"}`)
}
