package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/agent"
	agentapi "bellhop/agent/api"
	"bellhop/agent/api/history"
	"bellhop/crypto/seal"
	"bellhop/internal/heldtime"
	"bellhop/internal/httpapi"
	"bellhop/internal/process"
)

type agentCommand struct {
	Stdio bool `help:"Use JSON lines on stdin and stdout; logs go to stderr." xor:"front"`
	API   bool `name:"api" help:"Serve many sessions over HTTP and WebSockets." xor:"front"`

	modelFlags   `embed:""`
	Instructions string `placeholder:"TEXT" help:"Instructions for the model in addition to the built-in ones."`
	MCPConfig    string `name:"mcp-config" type:"existingfile" placeholder:"FILE" help:"JSON with mcpServers. The model can use their tools; each use asks for permission."`
	Policy       string `type:"existingfile" placeholder:"FILE" help:"Rules that decide about tool calls. Without them, every tool that changes something asks for permission."`

	Task      string `placeholder:"TEXT" help:"Stdio: work on this input, then exit."`
	SessionID string `placeholder:"ID" help:"Stdio: use this session id from the start."`
	Dir       string `type:"existingdir" placeholder:"DIR" help:"Stdio: the working directory, default '.'; files outside it are not accessed. API: each session gets a directory in it, which stays for --retention after the session. Without it, sessions use temporary directories."`

	Port        int           `default:"7702" help:"API: port to listen on, 0 for any (${default})."`
	Listen      string        `env:"BELLHOP_AGENT_LISTEN" default:"127.0.0.1" placeholder:"HOST" help:"API: address to listen on (${default}). Other than loopback addresses need a token."`
	Token       seal.Secret   `name:"token-file" env:"BELLHOP_AGENT_TOKEN" secret:"" placeholder:"FILE" help:"API: file with the token that callers send as Authorization: Bearer."`
	IdleTimeout time.Duration `default:"10m" help:"API: end a session that has no client and no turn for this time (${default})."`
	MaxSessions int           `default:"256" help:"API: maximum number of open sessions (${default})."`
	Data        string        `env:"BELLHOP_AGENT_DATA" placeholder:"DIR" help:"API: directory that keeps the histories of sessions, also after their end and over restarts. Without it, a history ends with its session."`
	Retention   time.Duration `default:"720h" help:"API: with --data and --dir, delete the history and the directory of a session this long after its end (${default}); 0 keeps the history until --max-history, and the directory."`
	MaxHistory  diskSize      `default:"1GiB" placeholder:"SIZE" help:"API: with --data, the size of all histories (${default}). The ones that ended first are deleted; 0 for no limit."`
}

// Help is shown by --help.
func (agentCommand) Help() string {
	var b strings.Builder
	b.WriteString("The model 'demo' is scripted, not a language model. It works with real tools in its directory and " +
		"understands:\n\n")
	for _, c := range agent.Commands() {
		_, _ = fmt.Fprintf(&b, "  %-22s %s\n", c.Usage, c.Help)
	}
	b.WriteString(`
It answers any other input with a list of the files in the workspace. Try:

  echo '{"type":"input","text":"list"}' | bellhop agent --stdio

Language models are named provider/name, with the provider's key in the environment:

  ANTHROPIC_API_KEY=…  bellhop agent --stdio --model anthropic/NAME
  OPENAI_API_KEY=…     bellhop agent --stdio --model openai/NAME
  OPENROUTER_API_KEY=… bellhop agent --stdio --model openrouter/VENDOR/NAME
                       bellhop agent --stdio --model ollama/NAME
                       bellhop agent --stdio --model openai/NAME --base-url http://127.0.0.1:8000/v1    (vLLM and others)

Many sessions in one process: POST /sessions returns session_id and token; /ws/SESSION_ID?token=TOKEN exchanges the same lines:

  bellhop agent --api --port 7702

With --data DIR, GET /sessions/SESSION_ID/history also answers for sessions that have ended:

  bellhop agent --api --data ./histories`)
	return b.String()
}

// Run serves the headless interface: on stdio until the end of input, over HTTP
// until the context ends.
func (c agentCommand) Run(env *environment) error {
	if err := runsAgents(process.Supported); err != nil {
		return err
	}
	source, err := c.newSessionSource(env)
	if err != nil {
		return err
	}
	switch {
	case c.Stdio && c.Data != "":
		return errors.New("agent: --data is for --api; with --stdio the program that runs the agent has the lines")
	case c.Stdio:
		return c.runStdio(env, source)
	case c.API:
		return c.runAPI(env, source)
	default:
		return errors.New("agent: use --stdio or --api")
	}
}

func (c agentCommand) runStdio(env *environment, source *sessionSource) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return source.run(ctx) })
	opened, err := source.openSession(ctx, agentapi.Opening{Dir: dir})
	if err != nil {
		return err
	}
	defer opened.Close()
	opts := opened.Options
	opts.Dir, opts.SessionID, opts.Task, opts.Log = dir, c.SessionID, c.Task, env.log
	opts.Version = version
	err = agent.Stdio(ctx, env.stdin, env.stdout, opts)
	cancel()
	_ = group.Wait() // an error of the group ended ctx, so agent.Stdio returned it in err
	return err
}

func (c agentCommand) runAPI(env *environment, source *sessionSource) error {
	held := &heldtime.Clock{
		Wall: time.Now, Store: heldtime.File(filepath.Join(cmp.Or(c.Data, c.Dir), ".bellhop-held-time")), Log: env.log,
	}
	if c.Data != "" || c.Dir != "" {
		if err := held.Load(env.ctx); err != nil {
			return err
		}
	}
	kept, err := c.openHistory(env, held)
	if err != nil {
		return err
	}
	err = c.serveAPI(env, source, kept, held)
	if kept != nil {
		err = errors.Join(err, kept.Close())
	}
	return err
}

// openHistory returns nil without --data.
func (c agentCommand) openHistory(env *environment, held *heldtime.Clock) (*history.Store, error) {
	switch {
	case c.Retention < 0:
		return nil, errors.New("agent: --retention must not be negative")
	case c.Data == "":
		return nil, nil //nolint:nilnil // no history is kept
	}
	return history.Open(env.ctx, history.Config{
		Dir: c.Data, Retention: c.Retention, MaxBytes: int64(c.MaxHistory), Held: held.Now, Log: env.log,
	})
}

func (c agentCommand) serveAPI(
	env *environment, source *sessionSource, kept *history.Store, held *heldtime.Clock,
) error {
	listener, err := c.listen(env.ctx)
	if err != nil {
		return err
	}
	workspaces := ""
	if c.Dir != "" {
		if workspaces, err = filepath.Abs(c.Dir); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	sessions := agentapi.New(agentapi.Config{
		Open: source.openSession, Token: c.Token.Reveal(), Workspaces: workspaces, Retention: c.Retention, Held: held.Now,
		Version: version, IdleTimeout: c.IdleTimeout, MaxSessions: c.MaxSessions, History: kept, Log: env.log,
	})
	server := httpapi.Server(sessions.Handler(), httpapi.ServerOptions{Log: env.log})
	if _, err := fmt.Fprintf(env.stdout, "listening on http://%s\n", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if c.Token.IsZero() {
		if _, err := fmt.Fprintf(env.stdout, "token that lists and deletes sessions: %s\n", sessions.Token()); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	group, ctx := errgroup.WithContext(env.ctx)
	group.Go(func() error { return source.run(ctx) })
	if kept != nil {
		group.Go(func() error { return kept.Run(ctx) })
	}
	if c.Data != "" || c.Dir != "" {
		group.Go(func() error { return held.Run(ctx) })
	}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		err := sessions.Run(ctx) // notifies clients before Shutdown closes their connections
		shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(err, server.Shutdown(shutdownCtx))
	})
	return group.Wait()
}

// listen refuses to listen on other than loopback addresses without a token.
func (c agentCommand) listen(ctx context.Context) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(c.Listen, strconv.Itoa(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	if tcpAddr, ok := listener.Addr().(*net.TCPAddr); (!ok || !tcpAddr.IP.IsLoopback()) && c.Token.IsZero() {
		return nil, errors.Join(
			fmt.Errorf("agent: other machines can reach %s: set BELLHOP_AGENT_TOKEN or BELLHOP_AGENT_TOKEN_FILE",
				listener.Addr()),
			listener.Close())
	}
	return listener, nil
}

// source reads the files that the flags name.
func (c agentCommand) newSessionSource(env *environment) (*sessionSource, error) {
	s := &sessionSource{flags: c.modelFlags, instructions: c.Instructions, log: env.log}
	if c.MCPConfig != "" {
		raw, err := os.ReadFile(c.MCPConfig)
		if err != nil {
			return nil, fmt.Errorf("--mcp-config: %w", err)
		}
		if err := s.readMCP(raw); err != nil {
			return nil, fmt.Errorf("--mcp-config: %w", err)
		}
	}
	if err := s.openPolicy(c.Policy); err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	return s, nil
}
