package agenthost_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func TestARestartEndsTheTurnAndTheNextOneGetsAnotherProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("one"), forever)
	first := r.post(r.announce("s1", "t1"), "")
	r.readN(first, 2)
	r.agent.script(writeText("two"))
	waiting := r.post(r.announce("s1", "t2"), "queue")
	r.readN(waiting, 1)

	ended, err := r.host.Restart(t.Context(), "s1")
	if err != nil || ended != "t1" {
		t.Fatalf("ended %q, %v", ended, err)
	}
	if last := r.read(first); last[len(last)-1].part.RawFinishReason != protocol.ReasonAgentRestarted {
		t.Errorf("the turn ended with %s", last[len(last)-1].json)
	}
	r.read(waiting)
	wantLines(t, "finishes", r.finishes(), []string{"t1 finish other agent-restarted", "t2 finish stop"})
	if n := r.agent.opened(); n != 2 {
		t.Errorf("%d programs were opened", n)
	}
	if ended, err = r.host.Restart(t.Context(), "s1"); err != nil || ended != "" {
		t.Errorf("an idle session: ended %q, %v", ended, err)
	}
	_, err = r.host.Restart(t.Context(), "s9")
	r.wantCode("no such session", err, protocol.CodeNotFound)
}

func (f *fakeAgent) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.specs)
}

// connected is a provider whose agents have clients connected.
type connected struct{ restarts chan string }

func (p connected) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	return connectedAgent{screenAgent{spec: spec}, p}, nil
}

type connectedAgent struct {
	screenAgent
	of connected
}

func (a connectedAgent) Restart(context.Context) error {
	a.of.restarts <- a.spec.SessionID
	return nil
}

func TestAProgramWithClientsIsStartedAgainAtOnce(t *testing.T) {
	t.Parallel()
	agent := connected{make(chan string, 2)}
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Providers["connected"] = agent }
	r.start()
	r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Agent: "connected",
	})
	if _, err := r.host.Restart(t.Context(), "s1"); err != nil || len(agent.restarts) != 0 {
		t.Fatalf("an agent that was never opened: %v, %d restarts", err, len(agent.restarts))
	}
	if _, err := r.host.Terminal(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.host.Restart(t.Context(), "s1"); err != nil || len(agent.restarts) != 1 {
		t.Errorf("%v, %d restarts", err, len(agent.restarts))
	}
}

// unstartable is a provider whose agents end, but cannot start again.
type unstartable struct{ opened, closed *atomic.Int32 }

func (p unstartable) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	p.opened.Add(1)
	return unstartableAgent{screenAgent{spec: spec}, p}, nil
}

type unstartableAgent struct {
	screenAgent
	of unstartable
}

func (unstartableAgent) Restart(context.Context) error { return errors.New("no such program") }

func (a unstartableAgent) Close(context.Context) error {
	a.of.closed.Add(1)
	return nil
}

func TestAnAgentThatCannotBeRestartedIsReplacedByTheNextTurn(t *testing.T) {
	t.Parallel()
	agent := unstartable{&atomic.Int32{}, &atomic.Int32{}}
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Providers["unstartable"] = agent }
	r.start()
	r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Agent: "unstartable",
	})
	r.read(r.post(r.announce("s1", "t1"), ""))
	if _, err := r.host.Restart(t.Context(), "s1"); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("restart: %v", err)
	}
	if n := agent.closed.Load(); n != 1 {
		t.Errorf("%d agents are closed", n)
	}
	r.read(r.post(r.announce("s1", "t2"), ""))
	if n := agent.opened.Load(); n != 2 {
		t.Errorf("%d agents were opened", n)
	}
}

func TestTheAgentsOfAProjectAreStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for _, s := range []struct{ id, project string }{{"s1", "shop"}, {"s2", "shop"}, {"s3", "blog"}, {"s4", "shop"}} {
		r.openSession(&protocol.OpenSessionRequest{
			SessionID: s.id, WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Project: s.project,
		})
	}
	stay := make(chan struct{})
	r.agent.script(writeText("a"), wait(stay))
	var streams []*agenthost.Stream
	for _, id := range []string{"s1", "s3"} {
		stream := r.post(r.announce(id, "t-"+id), "")
		r.readN(stream, 2)
		streams = append(streams, stream)
	}
	queued := r.post(r.announce("s1", "t-q"), "queue")
	r.readN(queued, 1)
	r.agent.script(writeText("b"))
	r.read(r.post(r.announce("s2", "t-s2"), ""))

	got, err := r.host.StopProject(t.Context(), "shop")
	want := []agenthost.StoppedSession{{SessionID: "s1", EndedTurn: "t-s1"}, {SessionID: "s2"}} // s4 has no agent
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if end := r.read(streams[0]); end[len(end)-1].part.RawFinishReason != protocol.ReasonAgentStopped {
		t.Errorf("the turn ended with %s", end[len(end)-1].json)
	}
	if end := r.read(queued); end[len(end)-1].part.RawFinishReason != protocol.ReasonNotStarted {
		t.Errorf("the turn that waited ended with %s", end[len(end)-1].json)
	}
	if s := r.statusOf("s3"); s.OpenTurn != "t-s3" {
		t.Errorf("the other project: %+v", s)
	}
	close(stay)
	r.read(streams[1])
	r.read(r.post(r.announce("s1", "t-next"), "")) // it runs again
	_, err = r.host.StopProject(t.Context(), "")
	r.wantCode("no project", err, protocol.CodeInvalid)
}

// slowToOpen is a provider whose Open reports itself on opening, and waits until open is closed.
type slowToOpen struct {
	agenthost.Provider
	opening, open chan struct{}
	closed        *atomic.Int32
}

func (p slowToOpen) Open(ctx context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	p.opening <- struct{}{}
	<-p.open
	agent, err := p.Provider.Open(ctx, spec)
	return closeCounter{agent, p.closed}, err
}

type closeCounter struct {
	agenthost.Agent
	closed *atomic.Int32
}

func (c closeCounter) Close(ctx context.Context) error {
	c.closed.Add(1)
	return c.Agent.Close(ctx)
}

// A program that a turn is starting must not outlive the restart, so the restart waits until it runs.
func TestARestartWaitsForAProgramThatStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	slow := slowToOpen{r.agent, make(chan struct{}, 1), make(chan struct{}), &atomic.Int32{}}
	r.options = func(o *agenthost.Options) { o.Providers["fake"] = slow }
	r.start()
	r.agent.script(writeText("one"), forever)
	first := r.post(r.announce("s1", "t1"), "")
	<-slow.opening
	left, leave := context.WithCancel(t.Context())
	leave()
	if ended, err := r.host.Restart(left, "s1"); !errors.Is(err, context.Canceled) || ended != "" {
		t.Errorf("a caller who left: ended %q, %v", ended, err)
	}
	if s := r.statusOf("s1"); s.OpenTurn != "t1" {
		t.Errorf("it ended the turn: %+v", s)
	}
	close(slow.open)
	r.readN(first, 2)
	if ended, err := r.host.Restart(t.Context(), "s1"); err != nil || ended != "t1" || slow.closed.Load() != 1 {
		t.Errorf("ended %q, %v, %d programs ended", ended, err, slow.closed.Load())
	}
	r.read(first)
	wantLines(t, "finishes", r.finishes(), []string{"t1 finish other agent-restarted"})
}

func TestAHostThatStopsRestartsNoAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("one"))
	r.stop()
	_, err := r.host.Restart(t.Context(), "s1")
	r.wantCode("a restart", err, protocol.CodeUnavailable)
}

// noAgent is a provider whose agents cannot be opened.
type noAgent struct{}

func (noAgent) Open(context.Context, agenthost.AgentSpec) (agenthost.Agent, error) {
	return nil, errors.New("no such program")
}

// slowFetch is a Workspaces whose Fetch reports itself on fetching, and waits until fetched is closed.
type slowFetch struct {
	directories
	fetching, fetched chan struct{}
}

func (f slowFetch) Fetch(context.Context, string, string) error {
	f.fetching <- struct{}{}
	<-f.fetched
	return nil
}

func TestAProjectIsStoppedWhileATurnHasNoAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	slow := slowFetch{directories{t.TempDir()}, make(chan struct{}, 2), make(chan struct{})}
	r.options = func(o *agenthost.Options) { o.Providers["none"], o.Workspaces = noAgent{}, slow }
	r.start()
	open := func() *protocol.OpenSessionResponse {
		return r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Project: "shop", Agent: "none", Attach: true,
		})
	}
	open()
	first := r.post(r.announce("s1", "t1"), "")
	<-slow.fetching // it has no agent, and has not ended
	queued := r.post(r.announce("s1", "t2"), "queue")

	var stopped []agenthost.StoppedSession
	done := make(chan error, 1)
	go func() {
		var err error
		stopped, err = r.host.StopProject(t.Context(), "shop")
		done <- err
	}()
	r.until("the project is stopped", func() bool { return len(done) > 0 || len(open().QueuedTurns) == 0 })
	close(slow.fetched)
	want := []agenthost.StoppedSession{{SessionID: "s1", EndedTurn: "t1"}}
	if err := <-done; err != nil || !slices.Equal(stopped, want) {
		t.Errorf("%+v, %v", stopped, err)
	}
	if end := r.read(queued); end[len(end)-1].part.RawFinishReason != protocol.ReasonNotStarted {
		t.Errorf("the turn that waited ended with %s", end[len(end)-1].json)
	}
	r.read(first)
}
