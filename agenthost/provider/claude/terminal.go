package claude

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/google/uuid"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// agent is the engine's agent with a terminal client.
type agent struct {
	*stdio.Agent[message]
	program *program
}

// Terminal implements agenthost.TerminalAgent: Claude Code in a terminal, on the session.
// The headless program is stopped first, as two would write one session; the next Run
// resumes with what was added. CodeConflict while a turn runs.
func (a *agent) Terminal(ctx context.Context) (terminal *agenthost.Terminal, err error) {
	path, err := a.program.options.Find(ctx)
	if err != nil {
		return nil, err
	}
	err = a.WhileIdle(func() error {
		if err := a.StopChild(ctx); err != nil {
			return err
		}
		if terminal, err = a.program.terminal(path); err != nil {
			return fmt.Errorf("configure the terminal client: %w", err)
		}
		return nil
	})
	return terminal, err
}

func (p *program) terminal(path string) (*agenthost.Terminal, error) {
	settings, err := p.writeHooks()
	if err != nil {
		return nil, err
	}
	mcp, err := p.writeMCP()
	if err != nil {
		return nil, err
	}
	if err := p.seed(); err != nil {
		return nil, err
	}
	// Without the mode it starts in one that runs edits unasked.
	command := append([]string{path}, p.resumption()...)
	command = append(command, "--permission-mode", "default")
	if settings != "" {
		command = append(command, "--settings", settings)
	}
	return &agenthost.Terminal{
		Command: append(command, common(p.spec, mcp)...),
		Dir:     p.spec.Dir,
		Env:     own(p.options, p.spec),
	}, nil
}

// resumption returns the arguments that open the session. One that is still empty begins in
// the terminal.
func (p *program) resumption() []string {
	if p.session != "" && p.onDisk(p.session) {
		return []string{"--resume", p.session}
	}
	p.session = cmp.Or(p.session, uuid.NewString())
	return []string{"--session-id", p.session}
}

// onDisk reports whether the program has written anything of the session.
func (p *program) onDisk(session string) bool {
	found, err := filepath.Glob(filepath.Join(p.folder(), "projects", "*", session+".jsonl"))
	return err == nil && len(found) > 0
}
