package opencode

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// agent is the agent of one session.
type agent struct {
	stdio.Slot
	options Options
	spec    agenthost.AgentSpec

	watch *watch

	gate sync.Mutex // held while the program is started or stopped

	reading sync.Mutex // held while turns of a terminal client are read

	mu        sync.Mutex
	program   *program // nil when none runs
	turn      *turn    // nil when idle
	password  string
	sessionID string // OpenCode's id of the session; "" before the first turn
	announced bool   // the host has stored this id
	known     string // the newest message of a terminal client that was reported; "" before the first look

	own    map[string]bool // messages of users in turns of the host, after known
	unread bool            // a terminal client may have made a turn that was not read, because a turn of the host began
}

var _ agenthost.TerminalAgent = (*agent)(nil)

// Run implements agenthost.Agent.
func (a *agent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	begun, err := a.Begin(ctx, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.End(begun)
	t := newTurn(begun, a)
	a.attach(t)
	defer a.detach(ctx, t)
	if err := t.prepare(t.Context(), prompt); err != nil {
		if t.Context().Err() != nil {
			return *stdio.Aborted(), nil
		}
		return agenthost.Outcome{}, err
	}
	return t.play(ctx), nil
}

// attach makes the turn the receiver of the program's events.
func (a *agent) attach(t *turn) {
	isBusy := a.watch.isBusy() // with a turn of a terminal client
	a.mu.Lock()
	a.turn = t
	a.unread = a.unread || isBusy
	a.mu.Unlock()
	a.watch.setInTurn(true)
}

// detach ends the turn's attachment, and reports the turns of a terminal client that could not be
// read because of it.
func (a *agent) detach(ctx context.Context, t *turn) {
	a.mu.Lock()
	a.markOwn(t)
	a.turn = nil
	p, unread := a.program, a.unread
	a.mu.Unlock()
	a.watch.setInTurn(false)
	if unread && p != nil && !p.ended() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		a.reportTerminalTurns(ctx, p)
	}
}

// running returns the program and starts it if none runs.
func (a *agent) running(ctx context.Context) (*program, error) {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.mu.Lock()
	p := a.program
	if a.password == "" {
		a.password = newPassword(a.spec)
	}
	a.mu.Unlock()
	switch {
	case a.RefusesTurns():
		return nil, stdio.ErrClosed
	case p != nil && !p.ended():
		return p, nil
	case p != nil:
		p.closeStream()
		a.watch.ended()
	}
	p, err := launch(ctx, a.options, a.spec, a.password, a.deliver)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.program = p
	return p, err
}

// newPassword returns the server's password. That of a workspace with a secret is always
// the same, so that a terminal client finds the server again after a restart of the host.
func newPassword(spec agenthost.AgentSpec) string {
	if spec.Local == nil || spec.Local.Secret == "" {
		return rand.Text()
	}
	mac := hmac.New(sha256.New, []byte(spec.Local.Secret))
	_, _ = mac.Write([]byte("opencode server"))
	return hex.EncodeToString(mac.Sum(nil))
}

// Restart implements agenthost.RestartingAgent. A program that ran is started again, on
// its port: terminal clients reconnect to it.
func (a *agent) Restart(ctx context.Context) error {
	a.mu.Lock()
	ran := a.program != nil && !a.program.ended()
	a.mu.Unlock()
	if err := a.Stop(ctx); err != nil || !ran {
		return err
	}
	_, err := a.running(ctx)
	return err
}

// resume returns the session's id in the program. fresh means a new session,
// because there was none or the program no longer has it.
func (a *agent) resume(ctx context.Context, p *program) (id string, fresh bool, err error) {
	a.mu.Lock()
	id = a.sessionID
	a.mu.Unlock()
	if id != "" {
		_, err := p.client.session(ctx, id)
		if err == nil {
			return id, false, nil
		}
		if !refused(err) {
			return "", false, fmt.Errorf("resume OpenCode's session: %w", err)
		}
		a.Log.Warn("the agent lost its session", "sessionID", id)
	}
	made, err := p.client.createSession(ctx, p.config.rules())
	if err != nil {
		return "", false, fmt.Errorf("create a session in OpenCode: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessionID, a.announced = made.ID, false
	return made.ID, true, nil
}

// deliver passes an event to the running turn. Events between turns are those of a
// terminal client, whose status is reported.
func (a *agent) deliver(from *program, in incoming) {
	a.mu.Lock()
	t, current := a.turn, a.program == from
	a.mu.Unlock()
	if current {
		a.observe(from, in)
	}
	if t == nil || !current || in.link == linkEnded {
		return
	}
	select {
	case t.events <- in:
	case <-t.Done():
	case <-from.server.Done():
	}
}

// observe updates the status of the program's sessions.
func (a *agent) observe(from *program, in incoming) {
	switch in.link {
	case linkLost: // linkBack reads the state again
	case linkEnded:
		a.watch.ended()
	case linkBack:
		a.inBackground(from, func(ctx context.Context) {
			if err := a.watch.catchUp(ctx, from.client); err != nil {
				a.Log.Warn("what the agent does is not known", "agent", a.Name, "error", err)
				return
			}
			a.reportTerminalTurns(ctx, from)
		})
	default:
		a.watch.handle(in.event)
		if in.event.Type == eventSessionIdle && a.isIdle() {
			a.inBackground(from, func(ctx context.Context) { a.reportTerminalTurns(ctx, from) })
		}
	}
}

func (a *agent) isIdle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn == nil
}

// inBackground calls f, which makes calls to the program.
func (a *agent) inBackground(p *program, f func(ctx context.Context)) {
	p.stream.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		defer context.AfterFunc(p.stopped, cancel)()
		f(ctx)
	})
}

// Stop implements agenthost.Agent. When ctx ends, the program is killed
// immediately.
func (a *agent) Stop(ctx context.Context) error {
	return a.Halt(ctx, func(ctx context.Context) error {
		a.gate.Lock()
		defer a.gate.Unlock()
		a.mu.Lock()
		p := a.program
		a.mu.Unlock()
		if p == nil {
			return nil
		}
		if err := a.options.Servers.Stop(ctx, serverKey(a.spec)); err != nil {
			return fmt.Errorf("stop the agent: %w", err)
		}
		p.closeStream()
		a.mu.Lock()
		a.program = nil
		a.mu.Unlock()
		a.watch.ended()
		return nil
	})
}

// Close implements agenthost.Agent.
func (a *agent) Close(ctx context.Context) error {
	a.RefuseTurns()
	return a.Stop(ctx)
}
