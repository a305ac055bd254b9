package codex

import (
	"context"
	"errors"
	"fmt"

	"bellhop/agenthost"
	"bellhop/internal/process"
)

// errOutput marks what an Output refused before the turn began.
var errOutput = errors.New("the output failed")

// ready sees to it that a program runs, has the session's thread open and gets
// the prompt.
func (a *agent) ready(t *turn) error {
	program, err := a.running(t.asking)
	if err != nil {
		return err
	}
	restored, err := a.open(t.asking, program, t.out)
	if err != nil {
		return a.unusable(t, program, err)
	}
	a.mu.Lock()
	t.program = program // what it says is heard from now on
	a.mu.Unlock()
	t.begin(restored)
	return nil
}

// running is the session's program, started if none runs. One that is being
// stopped is waited for: two in one home would disturb each other.
func (a *agent) running(ctx context.Context) (*program, error) {
	a.mu.Lock()
	current := a.program
	a.mu.Unlock()
	if current != nil {
		if !current.leaving() {
			return current, nil
		}
		select {
		case <-current.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	path, err := a.options.Find(ctx)
	if err != nil {
		return nil, err
	}
	env := environment(a.options, a.spec)
	if err := configure(a.options, a.spec, env); err != nil {
		return nil, fmt.Errorf("configure the agent %s: %w", a.options.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errClosed
	}
	program, err := start(process.Command{
		Args: []string{path, "app-server"}, Dir: a.spec.Dir, Env: env, Records: a.options.Records,
	}, a.spec.Log, a.options.Grace, a.heard)
	if err != nil {
		return nil, err
	}
	a.program = program
	a.spec.Log.Info("agent started", "agent", a.options.Name, "pid", program.process.Pid())
	return program, nil
}

// unusable ends a program that did not come to take the prompt.
func (a *agent) unusable(t *turn, program *program, err error) error {
	if errors.Is(err, errOutput) {
		return err
	}
	if stopErr := program.stop(t.asking); stopErr != nil {
		a.spec.Log.Error("agent cannot be stopped", "agent", a.options.Name, "err", stopErr)
		return err
	}
	return fmt.Errorf("%w\n%s", err, program.epitaph("The agent "+a.options.Name+" did not start"))
}

// open opens the session's thread in a new program. The text is what the new
// thread of an agent whose own memory is gone has to be told.
func (a *agent) open(ctx context.Context, p *program, out agenthost.Output) (string, error) {
	if p.thread != "" {
		return "", nil
	}
	hello := object{"clientInfo": object{"name": "bellhop", "title": "Bellhop", "version": "1"}}
	if err := p.call(ctx, "initialize", hello, nil); err != nil {
		return "", err
	}
	p.send(ctx, message{Method: "initialized"})
	lost := a.native != ""
	if lost {
		err := p.call(ctx, "thread/resume", a.settings(object{"threadId": a.native, "excludeTurns": true}), nil)
		if err == nil {
			p.thread = a.native
			return "", nil
		}
		var no *refusal
		if !errors.As(err, &no) {
			return "", err
		}
		a.spec.Log.Warn("agent cannot resume its thread", "agent", a.options.Name, "err", err)
	}
	var started struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	if err := p.call(ctx, "thread/start", a.settings(object{}), &started); err != nil {
		return "", err
	}
	p.thread, p.counts = started.Thread.ID, true
	return a.remember(ctx, started.Thread.ID, lost, out)
}

func (a *agent) remember(ctx context.Context, thread string, lost bool, out agenthost.Output) (restored string, err error) {
	a.native = thread
	if err = out.SetNative(thread); err == nil && lost {
		restored, err = out.Restored(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errOutput, err)
	}
	return restored, nil
}

// settings of a thread. Codex is to ask for all that it does not know to be
// harmless, so that the host's policy decides.
func (a *agent) settings(params object) object {
	params["cwd"] = a.spec.Dir
	params["approvalPolicy"] = "untrusted"
	params["approvalsReviewer"] = "user"
	params["sandbox"] = a.options.Sandbox
	if a.spec.Model != "" {
		params["model"] = a.spec.Model
	}
	return params
}
