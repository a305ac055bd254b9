package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"bellhop/internal/process"
	"bellhop/protocol"
)

// lostSession is what the program says of a session that it does not know.
const lostSession = "No conversation found"

// launch gives the turn a program that can be spoken to, and tells it the
// prompt: the one that runs, or one that resumes the session, or, if there is
// nothing to resume, one with a new session that is told what was said before.
func (t *turn) launch(ctx context.Context) error {
	running, err := t.running(ctx)
	if err != nil || running {
		return t.tell(ctx, err, "")
	}
	native := t.agent.session()
	if native != "" {
		err := t.start(ctx, native, "--resume", native)
		if !errors.Is(err, errLost) {
			return t.tell(ctx, err, "")
		}
		t.agent.spec.Log.Warn("agent has lost its session", "agent", t.agent.options.Name, "native", native)
	}
	native = uuid.NewString()
	if err := t.start(ctx, native, "--session-id", native); err != nil {
		return err
	}
	before, err := t.out.Restored(ctx)
	if err != nil {
		t.broken = fmt.Errorf("restore the conversation: %w", err)
	}
	return t.tell(ctx, nil, before)
}

// tell sends the prompt.
func (t *turn) tell(ctx context.Context, err error, before string) error {
	if err != nil || t.broken != nil {
		return err
	}
	id, line, err := encode(t.prompt, before)
	if err != nil {
		return err
	}
	t.id = id
	t.program.send(ctx, line)
	return nil
}

// running takes the program that runs, after one that is being stopped has
// gone: two in one session would disturb each other.
func (t *turn) running(ctx context.Context) (bool, error) {
	t.agent.mu.Lock()
	program := t.agent.program
	if program != nil && !program.leaving() && !t.agent.closed {
		t.program, t.reused = program, true
		t.agent.mu.Unlock()
		return true, nil
	}
	t.agent.mu.Unlock()
	if program == nil {
		return false, nil
	}
	select {
	case <-program.ended:
		return false, nil
	case <-t.interrupt:
		return false, errInterrupted
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

var (
	errLost        = errors.New("the session is lost")
	errInterrupted = errors.New("interrupted before the agent has begun")
)

// start starts a program with the given session and waits until it answers.
func (t *turn) start(ctx context.Context, native string, session ...string) error {
	command, err := t.agent.command(ctx, session)
	if err != nil {
		return err
	}
	program, err := t.agent.install(t, command)
	if err != nil {
		return err
	}
	if err := t.ready(ctx, program); err != nil {
		return err
	}
	t.agent.begins(native)
	return nil
}

// ready waits until the program answers the handshake; one that does not is
// ended.
func (t *turn) ready(ctx context.Context, program *program) (err error) {
	late := time.NewTimer(t.agent.options.Start)
	defer late.Stop()
	for err == nil {
		select {
		case <-t.said: // of no turn yet
		case <-program.ready:
			return nil
		case <-program.ended:
			return t.agent.failed(program)
		case <-t.interrupt:
			err = errInterrupted
		case <-ctx.Done():
			err = ctx.Err()
		case <-late.C:
			err = protocol.Errorf(protocol.CodeUnavailable, "The agent %s does not answer after %s", t.agent.options.Name, t.agent.options.Start)
		}
	}
	go program.signal(context.WithoutCancel(ctx))
	for {
		select {
		case <-t.said:
		case <-program.ended:
			return err
		}
	}
}

// command is the headless program with its configuration written.
func (a *agent) command(ctx context.Context, session []string) (process.Command, error) {
	path, err := a.options.Find(ctx)
	if err != nil {
		return process.Command{}, err
	}
	mcp, err := a.writeMCP()
	if err != nil {
		return process.Command{}, fmt.Errorf("configure the agent: %w", err)
	}
	return process.Command{
		Args:    arguments(path, session, a.spec, mcp),
		Dir:     a.spec.Dir,
		Env:     environment(a.options, a.spec),
		Records: a.options.Records,
	}, nil
}

// install starts the program for the turn.
func (a *agent) install(t *turn, command process.Command) (*program, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errClosed
	}
	program, err := start(command, a.spec.Log, a.options.Grace, a.heard)
	if err != nil {
		return nil, err
	}
	a.spec.Log.Info("agent started", "agent", a.options.Name, "pid", program.process.Pid())
	a.program, t.program = program, program
	return program, nil
}

// failed is the error of a program that has ended before it could be spoken to.
func (a *agent) failed(p *program) error {
	words := p.epitaph(fmt.Sprintf("The agent %s ended before it could take a prompt", a.options.Name))
	if strings.Contains(words, lostSession) {
		return fmt.Errorf("%w: %s", errLost, words)
	}
	return protocol.Errorf(protocol.CodeUnavailable, "%s", words)
}

// session is the program's own session, "" before there is one.
func (a *agent) session() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.native
}

// begins remembers the session of the program that runs now.
func (a *agent) begins(native string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.native = native
}
