package stdio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// Config holds the options that the engine needs from a provider.
type Config struct {
	Name    string        // the agent's name in messages to the user
	Records string        // directory for process.Sweep; "" keeps no record
	Grace   time.Duration // time between the steps of an interrupt and of a stop; 0 = process.DefaultGrace
	MaxLine int           // bytes of the longest line that is read; 0 = protocol.MaxLine

	// LimitPrompt refuses prompts over protocol.MaxLine, for protocols that use SendPrompt.
	LimitPrompt bool
}

// Agent implements agenthost.Agent with a Protocol.
type Agent[M any] struct {
	Slot
	config   Config
	spec     agenthost.AgentSpec
	protocol Protocol[M]

	// Only the goroutine of Run uses these three.
	session    string // id to resume; "" before there is one
	announced  string // the id that the host has stored
	memoryLost bool   // the next prompt must contain the record of the conversation

	link *link[M] // nil before the first start; under mu
	run  *run[M]  // nil when idle; under mu
}

// link is a child with its connection.
type link[M any] struct {
	child      *Child
	connection Connection[M]
	opened     bool // the session is open in the child
}

// incoming is a message, or the error of an invalid line.
type incoming[M any] struct {
	message  M
	invalid  string
	overlong bool // the line is invalid because of its length
}

// New creates an agent. Its first Run starts the program.
func New[M any](config Config, spec agenthost.AgentSpec, p Protocol[M]) *Agent[M] {
	if config.Grace <= 0 {
		config.Grace = process.DefaultGrace
	}
	if config.MaxLine == 0 {
		config.MaxLine = protocol.MaxLine
	}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &Agent[M]{
		Slot:   Slot{Name: config.Name, Log: spec.Log},
		config: config, spec: spec, protocol: p, session: spec.AgentSessionID, announced: spec.AgentSessionID,
	}
}

// Run implements agenthost.Agent.
func (a *Agent[M]) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	if a.config.LimitPrompt && isTooLarge(prompt) {
		return agenthost.Outcome{}, errTooLarge()
	}
	t, err := a.Begin(ctx, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.End(t)
	r := &run[M]{Turn: t, agent: a, prompt: prompt, messages: make(chan incoming[M])}
	defer a.attach(nil)
	switch err := r.begin(); {
	case err == nil:
		return r.play(ctx), nil
	case t.Context().Err() != nil, errors.Is(err, errOutput):
		return *Aborted(), nil
	default:
		return agenthost.Outcome{}, err
	}
}

// attach makes the run the receiver of its child's messages.
func (a *Agent[M]) attach(r *run[M]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run = r
}

// Stop implements agenthost.Agent. When ctx ends, the program is killed
// immediately.
func (a *Agent[M]) Stop(ctx context.Context) error { return a.Halt(ctx, a.StopChild) }

// Close implements agenthost.Agent.
func (a *Agent[M]) Close(ctx context.Context) error {
	a.RefuseTurns()
	return a.Stop(ctx)
}

// StopChild ends the running program, if there is one.
func (a *Agent[M]) StopChild(ctx context.Context) error {
	a.mu.Lock()
	l := a.link
	a.mu.Unlock()
	if l == nil {
		return nil
	}
	if err := l.child.stop(ctx); err != nil {
		return fmt.Errorf("stop the agent: %w", err)
	}
	return nil
}

// open returns a child in which the session is open. It starts a child if none
// runs. reused means that the child served an earlier turn.
func (a *Agent[M]) open(ctx context.Context, out agenthost.Output) (l *link[M], reused bool, err error) {
	for again := false; ; again = true {
		l, err := a.running(ctx)
		if err != nil || l.opened {
			return l, err == nil, err
		}
		id, lost, err := l.connection.Open(ctx, a.session, out)
		switch {
		case err == nil:
			l.opened = true
			a.session, a.memoryLost = id, a.memoryLost || lost
			return l, false, nil
		case errors.Is(err, ErrSessionLost) && !again:
			a.Log.Warn("agent has lost its session", "agent", a.Name)
			a.session = ""
		default:
			return nil, false, a.discard(ctx, l.child, err)
		}
	}
}

// running returns the child and starts one if none runs. It first waits for the
// exit of a child that is being stopped: two children in one home directory would
// disturb each other.
func (a *Agent[M]) running(ctx context.Context) (*link[M], error) {
	a.mu.Lock()
	current := a.link
	a.mu.Unlock()
	if current != nil {
		if !current.child.IsEnding() {
			return current, nil
		}
		select {
		case <-current.child.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	args, env, err := a.protocol.Command(ctx)
	if err != nil {
		return nil, err
	}
	return a.start(process.Command{
		Args: args, Dir: a.spec.Dir, Env: env, Records: a.config.Records, Confine: a.spec.Confine,
	})
}

func (a *Agent[M]) start(command process.Command) (*link[M], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusesTurns {
		return nil, ErrClosed
	}
	child, err := startChild(command, a.config.Grace, a.Log)
	if err != nil {
		return nil, err
	}
	a.Log.Info("agent started", "agent", a.Name, "pid", child.process.Pid())
	l := &link[M]{child: child}
	l.connection = a.protocol.Connect(child, func(m M) bool { return a.deliver(l, incoming[M]{message: m}) })
	a.link = l
	go child.run(a.config.MaxLine, func(line []byte, err error) { a.handle(l, line, err) }, l.hangUp)
	return l, nil
}

func (l *link[M]) hangUp() {
	if c, ok := l.connection.(HangUp); ok {
		c.HangUp()
	}
}

// discard ends a child that could not open the session, and adds its last lines to
// err.
func (a *Agent[M]) discard(ctx context.Context, child *Child, err error) error {
	if ctx.Err() != nil {
		child.Signal()
		<-child.ended
		return err
	}
	if stopErr := child.stop(ctx); stopErr != nil {
		a.Log.Error("agent cannot be stopped", "agent", a.Name, "err", stopErr)
		return err
	}
	if coded := (*protocol.Error)(nil); errors.As(err, &coded) {
		return err
	}
	return fmt.Errorf("%w\n%s", err, child.ExitSummary("The agent "+a.Name+" did not start"))
}

// handle decodes a line and delivers its message, before the next line is read.
func (a *Agent[M]) handle(l *link[M], line []byte, err error) {
	var in incoming[M]
	if err == nil {
		in.message, err = l.connection.Decode(line)
	}
	switch {
	case errors.Is(err, ErrConsumed):
		return
	case err != nil:
		in.invalid, in.overlong = err.Error(), errors.As(err, new(overlong))
	}
	if a.deliver(l, in) {
		return
	}
	if in.invalid == "" {
		l.connection.Reject(in.message)
	}
	a.Log.Debug("agent sent a message outside a turn", "agent", a.Name)
}

// deliver waits until the turn of this child has received the message.
func (a *Agent[M]) deliver(from *link[M], in incoming[M]) bool {
	a.mu.Lock()
	r := a.run
	if r != nil && r.link != from {
		r = nil
	}
	a.mu.Unlock()
	if r == nil {
		return false
	}
	select {
	case r.messages <- in:
		return true
	case <-r.done:
		return false
	}
}
