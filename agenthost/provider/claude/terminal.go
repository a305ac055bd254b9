package claude

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/google/uuid"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// Terminal implements agenthost.TerminalAgent: Claude Code in a terminal, on the
// session. The headless program is stopped first, as two would write one session;
// the next Run resumes with what was added. CodeConflict while a turn runs.
func (a *agent) Terminal(ctx context.Context) (*agenthost.Terminal, error) {
	path, err := a.options.Find(ctx)
	if err != nil {
		return nil, err
	}
	a.gate.Lock()
	defer a.gate.Unlock()
	if err := a.release(ctx); err != nil {
		return nil, err
	}
	settings, err := a.writeHooks()
	if err != nil {
		return nil, fmt.Errorf("configure the terminal client: %w", err)
	}
	mcp, err := a.writeMCP()
	if err != nil {
		return nil, fmt.Errorf("configure the terminal client: %w", err)
	}
	if err := a.seed(); err != nil {
		return nil, fmt.Errorf("configure the terminal client: %w", err)
	}
	// Without the mode it starts in one that runs edits unasked.
	command := append([]string{path}, a.resumption()...)
	command = append(command, "--permission-mode", "default")
	if settings != "" {
		command = append(command, "--settings", settings)
	}
	return &agenthost.Terminal{
		Command: append(command, common(a.spec, mcp)...),
		Dir:     a.spec.Dir,
		Env:     own(a.options, a.spec),
	}, nil
}

// release stops the headless program.
func (a *agent) release(ctx context.Context) error {
	a.mu.Lock()
	program, running, closed := a.program, a.turn != nil, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case running:
		return protocol.Errorf(protocol.CodeConflict, "The agent %s works on a turn in this session", a.options.Name)
	case program == nil:
		return nil
	}
	if err := program.stop(ctx); err != nil {
		return fmt.Errorf("stop the agent: %w", err)
	}
	return nil
}

// resumption are the arguments that open the session. One that has said nothing
// yet begins in the terminal.
func (a *agent) resumption() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.native != "" && a.onDisk(a.native) {
		return []string{"--resume", a.native}
	}
	a.native = cmp.Or(a.native, uuid.NewString())
	return []string{"--session-id", a.native}
}

// onDisk tells whether the program has written anything of the session.
func (a *agent) onDisk(native string) bool {
	found, err := filepath.Glob(filepath.Join(a.folder(), "projects", "*", native+".jsonl"))
	return err == nil && len(found) > 0
}
