package agenthost_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// screens is a provider whose agents have a terminal client.
type screens struct{ err error }

func (p screens) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	return screenAgent{err: p.err, spec: spec}, nil
}

type screenAgent struct {
	err  error
	spec agenthost.AgentSpec
}

func (screenAgent) Run(context.Context, agenthost.Prompt, agenthost.Output) (agenthost.Outcome, error) {
	return agenthost.Outcome{}, nil
}
func (screenAgent) Interrupt(context.Context) error { return nil }
func (screenAgent) Stop(context.Context) error      { return nil }
func (screenAgent) Close(context.Context) error     { return nil }

func (a screenAgent) Terminal(context.Context) (*agenthost.Terminal, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &agenthost.Terminal{
		Command: []string{"/bin/client", a.spec.SessionID}, Dir: a.spec.Dir, Env: []string{"KEY=secret"},
	}, nil
}

func TestTerminalIsTheAgentsOwnClient(t *testing.T) {
	t.Parallel()
	busy := protocol.Errorf(protocol.CodeConflict, "a turn runs")
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Providers["screen"], o.Providers["busy"] = screens{}, screens{busy}
	}
	r.start()
	for session, agent := range map[string]string{"s1": "screen", "s2": "busy", "s3": "fake"} {
		r.openSession(&protocol.OpenSessionRequest{
			SessionID: session, WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Agent: agent,
		})
	}
	got, err := r.host.Terminal(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if want := (&agenthost.Terminal{
		Command: []string{"/bin/client", "s1"}, Dir: got.Dir, Env: []string{"KEY=secret"},
	}); got.Dir == "" || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, c := range []struct {
		rule, session string
		code          protocol.Code
		message       string
	}{
		{"an agent may refuse during a turn", "s2", protocol.CodeConflict, "a turn runs"},
		{"an agent may have no client", "s3", protocol.CodeInvalid, "The agent fake has no terminal client"},
		{"a session may not exist", "s4", protocol.CodeNotFound, "Session not found"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := r.host.Terminal(t.Context(), c.session)
			if protocol.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%v, want %s %s", err, c.code, c.message)
			}
		})
	}
}

// slowScreens has one agent whose terminal client takes a while to be readied.
type slowScreens struct {
	screenAgent
	readying, ran chan struct{}
	early         bool // a turn ran meanwhile
}

func (p *slowScreens) Open(context.Context, agenthost.AgentSpec) (agenthost.Agent, error) {
	return p, nil
}

func (p *slowScreens) Run(context.Context, agenthost.Prompt, agenthost.Output) (agenthost.Outcome, error) {
	close(p.ran)
	return agenthost.Outcome{}, nil
}

func (p *slowScreens) Terminal(ctx context.Context) (*agenthost.Terminal, error) {
	close(p.readying)
	select {
	case <-p.ran:
		p.early = true
	case <-time.After(200 * time.Millisecond):
	}
	return p.screenAgent.Terminal(ctx)
}

// A client that is being readied and a turn would start two programs.
func TestATurnBeginsWhenTheTerminalIsReady(t *testing.T) {
	t.Parallel()
	agent := &slowScreens{readying: make(chan struct{}), ran: make(chan struct{})}
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Providers["screen"] = agent }
	r.start()
	r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Agent: "screen",
	})
	grant := r.announce("s1", "t1")
	ready := make(chan error, 1)
	go func() {
		_, err := r.host.Terminal(t.Context(), "s1")
		ready <- err
	}()
	<-agent.readying
	stream := r.startGrant(grant)
	if err := <-ready; err != nil || agent.early {
		t.Errorf("%v, a turn ran meanwhile: %v", err, agent.early)
	}
	<-agent.ran
	r.read(stream)
}

func TestAnOpenTerminalKeepsTheProgram(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.turn("s1", "t1", writeText("hello"))
		for range 4 { // the program of an idle session is stopped after 10 minutes
			time.Sleep(9 * time.Minute)
			if err := r.host.TerminalOpen("s1"); err != nil {
				r.Fatal(err)
			}
			synctest.Wait()
		}
		if n := r.agent.stopped(); n != 0 {
			r.Errorf("stopped %d times under the client", n)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if n := r.agent.stopped(); n != 1 {
			r.Errorf("stopped %d times after the client", n)
		}
		r.wantCode("no such session", r.host.TerminalOpen("s9"), protocol.CodeNotFound)
	})
}

func TestACallerOfTerminalMayLeaveWhileTheAgentIsOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	slow := slowToOpen{r.agent, make(chan struct{}, 1), make(chan struct{}), &atomic.Int32{}}
	r.options = func(o *agenthost.Options) { o.Providers["fake"] = slow }
	r.start()
	r.openSession(&protocol.OpenSessionRequest{SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.host.Terminal(t.Context(), "s1")
		first <- err
	}()
	<-slow.opening
	left, leave := context.WithCancel(t.Context())
	leave()
	go func() {
		_, err := r.host.Terminal(left, "s1")
		second <- err
	}()
	r.until("the caller who left gets an answer", func() bool { return len(second) > 0 })
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who left: %v", err)
	}
	close(slow.open)
	r.wantCode("the other caller", <-first, protocol.CodeInvalid)
}
