package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

const (
	requestTimeout = 2 * time.Minute // includes the start of the agent's program

	// renewInterval is the pause between reports that the client is open. It is
	// shorter than the time after which the host stops idle programs.
	renewInterval = 2 * time.Minute
)

type attachCommand struct {
	Session string `arg:"" help:"The session's id, which is the task's id."`

	devFlag `embed:""`

	Host     string      `default:"http://127.0.0.1:7701" placeholder:"URL" help:"URL of the agent host on this machine (${default})."`
	Password seal.Secret `env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"PASSWORD" help:"The host's password."`
}

// Help is shown by --help.
func (attachCommand) Help() string {
	return `Opens the agent's own terminal client on the session, such as opencode attach or claude --resume. This works only on
	the machine of the agent host, as a user who may read its data. On other machines use 'bellhop chat'.

  bellhop attach --dev .bellhop tsk_…`
}

// Run starts the agent's terminal client and waits for its end.
func (c attachCommand) Run(env *environment) error {
	host, err := c.terminalRoute()
	if err != nil {
		return err
	}
	terminal, err := host.request(env.ctx, "")
	if err != nil {
		return err
	}
	if err := checkLocal(terminal); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	go host.renewUntilDone(ctx)
	return runClient(ctx, env, terminal)
}

// terminalRoute is the host's route for the terminal client of one session.
type terminalRoute struct{ url, password string }

func (c attachCommand) terminalRoute() (*terminalRoute, error) {
	to, err := c.connect(connection{c.Host, c.Password}, func(dev app.DevFile) connection {
		return connection{dev.HostURL, seal.NewSecret(dev.HostPassword)}
	}, &protocol.Error{
		Code: protocol.CodeInvalid, Message: "no host password",
		Hint: "Use --dev DIR next to a 'bellhop dev', or set BELLHOP_HOST_PASSWORD.",
	})
	if err != nil {
		return nil, err
	}
	route := strings.TrimRight(to.url, "/") + "/session/" + url.PathEscape(c.Session) + "/terminal"
	return &terminalRoute{route, to.secret.Reveal()}, nil
}

func (h *terminalRoute) request(ctx context.Context, body string) (*agenthost.Terminal, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+h.password)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the agent host cannot be reached (--host): %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		var refused protocol.ErrorBody
		if json.Unmarshal(content, &refused) != nil || refused.Error == "" {
			return nil, fmt.Errorf("the agent host answered %s", response.Status)
		}
		return nil, &protocol.Error{Code: refused.Code, Message: refused.Error, Hint: refused.Hint}
	}
	terminal := &agenthost.Terminal{}
	return terminal, json.NewDecoder(bytes.NewReader(content)).Decode(terminal)
}

// renewUntilDone reports to the host that the client is open, until ctx ends. A
// lost report does no harm, because several fit into the host's time limit.
func (h *terminalRoute) renewUntilDone(ctx context.Context) {
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_, _ = h.request(ctx, `{"attached":true}`)
		case <-ctx.Done():
			return
		}
	}
}

func checkLocal(t *agenthost.Terminal) error {
	notLocal := func(what string) error {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: what + " is not on this machine",
			Hint: "bellhop attach works only on the machine of the agent host. Run it there, or use bellhop chat.",
		}
	}
	if len(t.Command) == 0 {
		return errors.New("the agent host names no command")
	}
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return notLocal("the session's folder " + t.Dir)
	}
	if _, err := exec.LookPath(t.Command[0]); err != nil {
		return notLocal("the agent's program " + t.Command[0])
	}
	return nil
}

// runClient runs the client in this terminal until it exits. The terminal sends
// Ctrl-C to both processes, so this one ignores it.
func runClient(ctx context.Context, env *environment, t *agenthost.Terminal) error {
	client := exec.Command(t.Command[0], t.Command[1:]...) //nolint:noctx // ctx ends it with SIGTERM below
	client.Dir, client.Env = t.Dir, append(os.Environ(), t.Env...)
	client.Stdin, client.Stdout, client.Stderr = env.stdin, env.stdout, env.stderr
	if err := client.Start(); err != nil {
		return fmt.Errorf("start %s: %w", t.Command[0], err)
	}
	exited := make(chan error, 1)
	go func() { exited <- client.Wait() }()
	stop := ctx.Done()
	for {
		select {
		case err := <-exited:
			if err != nil {
				return fmt.Errorf("the agent's terminal client: %w", err)
			}
			return nil
		case s := <-env.signals:
			if s == syscall.SIGTERM {
				_ = client.Process.Signal(syscall.SIGTERM)
			}
		case <-stop:
			stop = nil
			_ = client.Process.Signal(syscall.SIGTERM)
		}
	}
}
