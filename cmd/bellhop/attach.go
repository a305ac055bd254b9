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
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

const (
	attachTime = 2 * time.Minute // the agent's program may have to start

	// keepOpen is how often the host hears that the client is open: well within
	// the time after which it stops idle programs.
	keepOpen = 2 * time.Minute
)

type attachCommand struct {
	Session string `arg:"" help:"The session, which is the task's id."`

	Dev      string      `placeholder:"DIR" help:"Use the 'bellhop dev' that keeps its data there."`
	Host     string      `default:"http://127.0.0.1:7701" placeholder:"URL" help:"The agent host, on this machine (${default})."`
	Password seal.Secret `env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"PASSWORD" help:"The host's password."`
}

// Help is shown by --help.
func (attachCommand) Help() string {
	return `Opens the agent's own terminal client on the session, here: opencode attach, claude --resume. That works on the
machine of the agent host alone, as a user who may read its data. Use 'bellhop chat' from anywhere else.

  bellhop attach --dev .bellhop tsk_…`
}

// Run is the client until it ends.
func (c attachCommand) Run(env *environment) error {
	host, err := c.host()
	if err != nil {
		return err
	}
	terminal, err := host.ask(env.ctx, "")
	if err != nil {
		return err
	}
	if err := onThisMachine(terminal); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	go host.keep(ctx)
	return runClient(ctx, env, terminal)
}

// attachedHost is the route of one session.
type attachedHost struct{ url, password string }

func (c attachCommand) host() (*attachedHost, error) {
	base, password := c.Host, c.Password.Reveal()
	if c.Dev != "" {
		content, err := os.ReadFile(filepath.Join(c.Dev, "dev.json"))
		if err != nil {
			return nil, fmt.Errorf("--dev: %w (is 'bellhop dev' running with --data %s?)", err, c.Dev)
		}
		var dev app.DevFile
		if err := json.Unmarshal(content, &dev); err != nil {
			return nil, fmt.Errorf("--dev: %w", err)
		}
		base, password = dev.HostURL, dev.HostPassword
	}
	if password == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "no host password",
			Hint: "Use --dev DIR next to a 'bellhop dev', or set BELLHOP_HOST_PASSWORD.",
		}
	}
	return &attachedHost{strings.TrimRight(base, "/") + "/session/" + url.PathEscape(c.Session) + "/terminal", password}, nil
}

func (h *attachedHost) ask(ctx context.Context, body string) (*agenthost.Terminal, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
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

// keep tells the host that the client is open. A host that misses it once hears
// the next.
func (h *attachedHost) keep(ctx context.Context) {
	ticker := time.NewTicker(keepOpen)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_, _ = h.ask(ctx, `{"attached":true}`)
		case <-ctx.Done():
			return
		}
	}
}

func onThisMachine(t *agenthost.Terminal) error {
	elsewhere := func(what string) error {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: what + " is not on this machine",
			Hint: "bellhop attach works on the machine of the agent host alone. Run it there, or use bellhop chat.",
		}
	}
	if len(t.Command) == 0 {
		return errors.New("the agent host names no command")
	}
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return elsewhere("the session's folder " + t.Dir)
	}
	if _, err := exec.LookPath(t.Command[0]); err != nil {
		return elsewhere("the agent's program " + t.Command[0])
	}
	return nil
}

// runClient runs the client in our terminal. Ctrl-C is its own affair: the
// terminal sends it to both of us, and we stay until it has ended.
func runClient(ctx context.Context, env *environment, t *agenthost.Terminal) error {
	client := exec.Command(t.Command[0], t.Command[1:]...) //nolint:noctx // it ends by its own
	client.Dir, client.Env = t.Dir, append(os.Environ(), t.Env...)
	client.Stdin, client.Stdout, client.Stderr = env.stdin, env.stdout, env.stderr
	if err := client.Start(); err != nil {
		return fmt.Errorf("start %s: %w", t.Command[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	stop := ctx.Done()
	for {
		select {
		case err := <-ended:
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
