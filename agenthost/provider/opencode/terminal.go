package opencode

import (
	"context"
	"strconv"

	"bellhop/agenthost"
)

// Terminal implements agenthost.TerminalAgent: it returns the command line of
// OpenCode's own client for the running server. The client may be open during a
// turn, and the user may answer questions there too.
func (a *agent) Terminal(ctx context.Context) (*agenthost.Terminal, error) {
	p, err := a.running(ctx)
	if err != nil {
		return nil, err
	}
	id, _, err := a.resume(ctx, p)
	if err != nil {
		return nil, err
	}
	a.reportTerminalTurns(ctx, p) // from now on others may write messages
	port := p.server.Info().Port
	return &agenthost.Terminal{
		Command: []string{p.path, "attach", address(port), "--session", id, "--dir", a.spec.Dir},
		Dir:     a.spec.Dir,
		Dials:   []int{port},
		Env: []string{
			"BELLHOP_OPENCODE_PORT=" + strconv.Itoa(port),
			"BELLHOP_OPENCODE_SESSION_ID=" + id,
			"OPENCODE_SERVER_PASSWORD=" + p.client.password,
			"OPENCODE_DISABLE_AUTOUPDATE=1",     // the host manages the program
			"OPENCODE_DISABLE_PROJECT_CONFIG=1", // the client must not trust a repository either
		},
	}, nil
}
