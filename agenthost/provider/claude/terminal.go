package claude

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/google/uuid"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/internal/openflag"
)

// agent adds a terminal client to the engine's agent.
type agent struct {
	*stdio.Agent[message]
	program *program
}

// Terminal implements agenthost.TerminalAgent: it returns the command line of
// Claude Code in a terminal, for this session. It stops the headless program first,
// because two programs must not write one session. The next Run resumes the
// extended session. CodeConflict while a turn runs.
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
	// Without this option the client starts in a mode that edits without asking.
	command := append([]string{path}, p.resumption()...)
	command = append(command, "--permission-mode", "default")
	if settings != "" {
		command = append(command, "--settings", settings)
	}
	return &agenthost.Terminal{
		Command: append(command, common(p.spec, mcp)...),
		Dir:     p.spec.Dir,
		Env:     sharedVariables(p.options, p.spec),
	}, nil
}

// resumption returns the arguments that open the session. An empty session begins
// in the terminal.
func (p *program) resumption() []string {
	if p.session != "" && p.onDisk(p.session) {
		return []string{"--resume", p.session}
	}
	p.session = cmp.Or(p.session, uuid.NewString())
	return []string{"--session-id", p.session}
}

// onDisk reports whether the program has stored a part of the session.
func (p *program) onDisk(session string) bool {
	dir, name := p.transcripts()
	projects, _ := openflag.ReadDir(dir, name, maxProjects)
	return slices.ContainsFunc(projects, func(project fs.DirEntry) bool {
		file, err := openflag.Open(dir, path.Join(name, project.Name(), session+".jsonl"))
		if err == nil {
			_ = file.Close()
		}
		return err == nil
	})
}

// maxProjects bounds the directories of transcripts that are looked into. A session has one for each of its directories.
const maxProjects = 10_000
