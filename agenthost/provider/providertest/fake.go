package providertest

import (
	"context"
	"slices"
	"sync"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// Fake is a provider whose agents run the prompt of a turn as a script, one step
// per line, without any program:
//
//	text WORDS               adds WORDS to the text block, in one delta
//	end [FINAL]              closes the text block; FINAL replaces the deltas
//	reason WORDS             a reasoning block
//	tool NAME [JSON]         a call and its result {"ok":true}
//	toolerr NAME [JSON]      a call and its result {"error":"failed"}, isError
//	confirm NAME [JSON]      a call that asks first; its result is denied if the answer is no or never comes
//	ask QUESTION             asks, then sends the answer as text
//	expire NAME [JSON]       a call that asks and stops waiting for the answer
//	lost                     reports that the connection to the program is lost
//	back                     reports that the connection works again
//	restored                 asks for the restored context, then sends it as text
//	notice LEVEL MESSAGE     a notice, which is not stored
//	agent-session ID         reports ID as the agent's own session id
//	usage JSON               the usage of the turn
//	stream N every DURATION  N deltas, DURATION apart
//	slow N                   stream N every 100ms
//	wait NAME                until Release(NAME)
//	fail [MESSAGE]           ends the turn: the agent reports a failure
//	crash [LAST WORDS]       ends the turn: the program died
//	finish REASON            ends the turn with this finish reason
//	hang                     until the turn is interrupted
//	cannot-start             the turn never begins
//
// Leading white space is ignored. The answer to a line without a step is a short
// text in four deltas.
//
// The zero Fake is ready to use.
type Fake struct {
	// Play, if set, plays every prompt instead of the script.
	Play func(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error)

	mu      sync.Mutex
	gates   map[string]chan struct{}
	specs   []agenthost.AgentSpec
	prompts []agenthost.Prompt
	running int
}

// Open creates an agent and records its spec.
func (f *Fake) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.specs = append(f.specs, spec)
	return &fakeAgent{fake: f}, nil
}

// Release ends every current and future "wait name".
func (f *Fake) Release(name string) {
	gate := f.gate(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}

// Specs returns the specs of all calls of Open.
func (f *Fake) Specs() []agenthost.AgentSpec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.specs)
}

// Prompts returns the prompts of all turns so far.
func (f *Fake) Prompts() []agenthost.Prompt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.prompts)
}

// Running returns the number of running turns.
func (f *Fake) Running() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

func (f *Fake) gate(name string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gates == nil {
		f.gates = map[string]chan struct{}{}
	}
	if f.gates[name] == nil {
		f.gates[name] = make(chan struct{})
	}
	return f.gates[name]
}

func (f *Fake) began(prompt agenthost.Prompt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prompts = append(f.prompts, prompt)
	f.running++
}

func (f *Fake) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

// fakeAgent is the agent of one session.
type fakeAgent struct {
	fake *Fake

	mu     sync.Mutex
	cancel context.CancelFunc // of the running turn; nil when idle
	done   chan struct{}
	closed bool
}

func (a *fakeAgent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return agenthost.Outcome{}, errClosed
	}
	a.cancel, a.done = cancel, done
	a.mu.Unlock()
	a.fake.began(prompt)
	defer func() {
		a.fake.ended()
		a.mu.Lock()
		a.cancel, a.done = nil, nil
		a.mu.Unlock()
		close(done)
	}()
	play := a.fake.Play
	if play == nil {
		play = a.fake.script
	}
	outcome, err := play(ctx, prompt, out)
	if err == nil && ctx.Err() != nil {
		outcome = agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted, Usage: outcome.Usage}
	}
	return outcome, err
}

// Interrupt cancels the running turn and waits for its end.
func (a *fakeAgent) Interrupt(ctx context.Context) error {
	a.mu.Lock()
	cancel, done := a.cancel, a.done
	a.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *fakeAgent) Stop(ctx context.Context) error { return a.Interrupt(ctx) }

func (a *fakeAgent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	return a.Interrupt(ctx)
}
