package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/internal/process"
)

// errOutput marks what an Output refused before the turn began.
var errOutput = errors.New("the output failed")

// A replay of a loaded session has ended when nothing has come for replayQuiet.
const (
	replayQuiet = 300 * time.Millisecond
	replayMost  = 10 * time.Second
)

// ready sees to it that a program runs, has the session open and gets the
// prompt.
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
	args, err := a.options.Command(ctx)
	if err != nil {
		return nil, err
	}
	if a.options.Prepare != nil {
		if err := a.options.Prepare(a.spec); err != nil {
			return nil, fmt.Errorf("prepare the agent %s: %w", a.options.Name, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errClosed
	}
	program, err := start(process.Command{
		Args: args, Dir: a.spec.Dir, Env: environment(a.options, a.spec), Records: a.options.Records,
	}, a.spec.Log, a.options.Grace, a.heard, a.ask)
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

// open opens the agent's session in a new program. The text is what the new
// session of an agent whose own memory is gone has to be told.
func (a *agent) open(ctx context.Context, p *program, out agenthost.Output) (restored string, err error) {
	if p.session != "" {
		return "", nil
	}
	hello, err := p.conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "bellhop", Version: "1"},
	})
	if err != nil {
		return "", fmt.Errorf("initialize: %w", words(err))
	}
	p.capabilities = hello.AgentCapabilities
	lost := a.native != ""
	models, err := a.load(ctx, p)
	if err != nil {
		return "", err
	}
	if p.session == "" {
		created, err := p.conn.NewSession(ctx, sdk.NewSessionRequest{Meta: distrust(a.spec.Dir), Cwd: a.spec.Dir, McpServers: a.servers(p)})
		if err != nil {
			return "", fmt.Errorf("session/new: %w", words(err))
		}
		p.session, models = created.SessionId, created.Models
		if restored, err = a.remember(ctx, p.session, lost, out); err != nil {
			return "", err
		}
	}
	return restored, a.configure(ctx, p, models, out)
}

// load loads the session of an earlier life, if there is one and the agent can
// and will. What the agent replays of it is over when load returns.
func (a *agent) load(ctx context.Context, p *program) (*sdk.SessionModelState, error) {
	if a.native == "" || !p.capabilities.LoadSession {
		return nil, nil
	}
	loaded, err := p.conn.LoadSession(ctx, sdk.LoadSessionRequest{
		Meta: distrust(a.spec.Dir), SessionId: sdk.SessionId(a.native), Cwd: a.spec.Dir, McpServers: a.servers(p),
	})
	switch {
	case p.leaving() || ctx.Err() != nil:
		return nil, fmt.Errorf("session/load: %w", words(err))
	case err != nil:
		a.spec.Log.Warn("agent cannot load its session", "agent", a.options.Name, "err", err)
		return nil, nil
	}
	p.session = sdk.SessionId(a.native)
	return loaded.Models, p.quiet(ctx, replayQuiet, replayMost)
}

func (a *agent) remember(ctx context.Context, session sdk.SessionId, lost bool, out agenthost.Output) (restored string, err error) {
	a.native = string(session)
	if err = out.SetNative(a.native); err == nil && lost {
		restored, err = out.Restored(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errOutput, err)
	}
	return restored, nil
}

// servers are the MCP servers of the session: the host's own, for an agent that
// speaks HTTP with it.
func (a *agent) servers(p *program) []sdk.McpServer {
	if a.spec.Local == nil || !p.capabilities.McpCapabilities.Http {
		return []sdk.McpServer{}
	}
	return []sdk.McpServer{{Http: &sdk.McpServerHttpInline{
		Type: "http", Name: "bellhop", Url: a.spec.Local.MCPURL,
		Headers: []sdk.HttpHeader{{Name: "Authorization", Value: "Bearer " + a.spec.Local.Secret}},
	}}}
}

// configure sets the mode and the model. A loaded session has those it had.
func (a *agent) configure(ctx context.Context, p *program, models *sdk.SessionModelState, out agenthost.Output) error {
	if mode := a.options.Mode; mode != "" {
		if _, err := p.conn.SetSessionMode(ctx, sdk.SetSessionModeRequest{SessionId: p.session, ModeId: sdk.SessionModeId(mode)}); err != nil {
			return fmt.Errorf("set the mode %q: %w", mode, words(err))
		}
	}
	model := a.spec.Model
	switch {
	case model == "":
		return nil
	case models == nil:
		a.spec.Log.Warn("agent cannot be told a model", "agent", a.options.Name)
		out.Notice("warning", "The agent cannot be told the model "+model+", it uses its own")
		return nil
	case string(models.CurrentModelId) == model:
		return nil
	}
	_, err := p.conn.UnstableSetSessionModel(ctx, sdk.UnstableSetSessionModelRequest{SessionId: p.session, ModelId: sdk.UnstableModelId(model)})
	if err != nil {
		return fmt.Errorf("set the model %q: %w", model, words(err))
	}
	return nil
}
