package opencode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/process"
	"bellhop/internal/servers"
)

// program is a running or exited server and the stream of its events.
type program struct {
	path   string
	server *servers.Server
	client *client
	config *configuration

	commands []string // names of its slash commands; not changed once the program runs

	stopped context.Context //nolint:containedctx // ends with the stream of events
	cancel  context.CancelFunc
	stream  sync.WaitGroup
	opened  chan struct{} // closed when the stream of events is open
}

// launch starts the session's server. deliver receives its events.
func launch(
	ctx context.Context, o Options, spec agenthost.AgentSpec, password string, deliver func(*program, incoming),
) (*program, error) {
	path, err := o.Find(ctx)
	if err != nil {
		return nil, err
	}
	if err := refusePlugins(spec.Dir); err != nil {
		return nil, err
	}
	base := variables(o, spec)
	config, err := configure(o, spec, base)
	if err != nil {
		return nil, err
	}
	file, err := config.write(spec.StateDir)
	if err != nil {
		return nil, err
	}
	env, err := config.environment(base, spec.StateDir, file, password)
	if err != nil {
		return nil, err
	}
	// On its previous port, if there was one, so that a terminal client finds it
	// again.
	server, err := o.Servers.Restart(ctx, serverSpec(o, spec, path, env, password))
	if err != nil {
		return nil, err
	}
	p := &program{
		path: path, server: server, config: config, opened: make(chan struct{}),
		client: newClient(address(server.Info().Port), password),
	}
	p.follow(spec, deliver)
	if err := p.await(ctx); err != nil {
		p.closeStream()
		return nil, errors.Join(err, o.Servers.Stop(context.WithoutCancel(ctx), serverKey(spec)))
	}
	p.learnCommands(ctx, spec)
	return p, nil
}

func serverSpec(o Options, spec agenthost.AgentSpec, path string, env []string, password string) servers.Spec {
	return servers.Spec{
		Key: serverKey(spec),
		Command: func(port int) process.Command {
			return process.Command{
				Args:    []string{path, "serve", "--hostname", "127.0.0.1", "--port", strconv.Itoa(port)},
				Dir:     spec.Dir,
				Env:     env,
				Records: o.Records,
				Listens: []int{port},
				Confine: spec.Confine,
			}
		},
		// The socket accepts connections before the routes exist, and a request in
		// between never gets a response.
		Ready: func(line string) bool { return strings.Contains(line, "server listening on http://") },
		Health: func(ctx context.Context, port int) error {
			c := newClient(address(port), password)
			defer c.http.CloseIdleConnections()
			return c.health(ctx)
		},
		PortTaken: func(lines []string) bool {
			output := strings.Join(lines, "\n")
			return strings.Contains(output, "ServeError") || strings.Contains(output, "EADDRINUSE")
		},
	}
}

// serverKey identifies a workspace. Two sessions in one directory have two homes
// and therefore two servers.
func serverKey(spec agenthost.AgentSpec) string { return spec.Dir + " " + spec.StateDir }

func address(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// follow reads the events in the background until the program has exited.
func (p *program) follow(spec agenthost.AgentSpec, deliver func(*program, incoming)) {
	ctx, cancel := context.WithCancel(context.Background())
	p.stopped, p.cancel = ctx, cancel
	s := newStream(p.client)
	s.deliver = func(in incoming) { deliver(p, in) }
	s.opened = func() { close(p.opened) }
	s.report = func(err error, again time.Duration) {
		spec.Log.Warn("lost the agent's events", "error", err, "again", again)
	}
	p.stream.Go(func() { s.run(ctx) })
	p.stream.Go(func() { // an exited server has no events: stop retrying
		select {
		case <-p.server.Done():
			cancel()
			deliver(p, incoming{link: linkEnded})
		case <-ctx.Done():
		}
	})
}

func (p *program) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case <-p.opened:
		return nil
	case <-p.server.Done():
		return errors.New(p.exitSummary("OpenCode"))
	case <-ctx.Done():
		return fmt.Errorf("OpenCode sends no events: %w", ctx.Err())
	}
}

func (p *program) ended() bool {
	select {
	case <-p.server.Done():
		return true
	default:
		return false
	}
}

// closeStream ends the stream of events. The manager of the server ends the server.
func (p *program) closeStream() {
	p.cancel()
	p.stream.Wait()
	p.client.http.CloseIdleConnections()
}

// exitSummary describes the exit of the program, with its last lines of output.
func (p *program) exitSummary(name string) string {
	exit := p.server.Exit()
	how := "it ended"
	if exit.Err != nil {
		how = exit.Err.Error()
	}
	lines := append([]string{"The agent " + name + " exited during the turn: " + how}, exit.Lines...)
	return strings.Join(lines, "\n")
}
