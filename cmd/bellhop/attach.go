package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

const (
	watchSeconds = 20               // a report that the client is open is answered after so long
	watchPause   = time.Second      // between two reports
	lostPause    = 10 * time.Second // after a report that failed
	closeTime    = 5 * time.Second  // for the report that the client has ended
	killAfter    = 5 * time.Second  // a client that ignores SIGTERM
)

type attachCommand struct {
	Session string `arg:"" help:"The session's id, which is the task's id."`

	hostFlags `embed:""`
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
	if err := checkLocal(&terminal.Terminal); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	watched := make(chan bool, 1)
	go func() {
		takenOver := host.watch(ctx)
		watched <- takenOver
		cancel()
	}()
	err = runClient(ctx, env, &terminal.Terminal)
	cancel()
	takenOver := <-watched
	closing, done := context.WithTimeout(context.WithoutCancel(env.ctx), closeTime)
	defer done()
	_, _ = host.request(closing, `{"closed":true}`) // else the host learns it a little later
	if takenOver {
		_, _ = fmt.Fprintln(env.stderr, "A prompt from another client took the session over, so this client was closed.")
		return nil
	}
	return err
}

// terminalRoute is the host's route for the terminal client of one session.
type terminalRoute struct {
	*localHost
	path string
}

func (c attachCommand) terminalRoute() (*terminalRoute, error) {
	host, err := c.localHost()
	if err != nil {
		return nil, err
	}
	return &terminalRoute{host, "/session/" + url.PathEscape(c.Session) + "/terminal"}, nil
}

// terminalAnswer is the command of the client, or the answer to a report.
type terminalAnswer struct {
	agenthost.Terminal
	TakenOver bool `json:"takenOver"`
}

func (h *terminalRoute) request(ctx context.Context, body string) (*terminalAnswer, error) {
	answer := &terminalAnswer{}
	return answer, h.call(ctx, http.MethodPost, h.path, body, answer)
}

// watch reports to the host that the client is open, until ctx ends. It returns true when a prompt
// takes the session over. A lost report does no harm, because the next one follows soon.
func (h *terminalRoute) watch(ctx context.Context) (takenOver bool) {
	for {
		pause := watchPause
		answer, err := h.request(ctx, fmt.Sprintf(`{"attached":true,"waitSeconds":%d}`, watchSeconds))
		switch {
		case err != nil:
			pause = lostPause
		case answer.TakenOver:
			return true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
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
			defer time.AfterFunc(killAfter, func() { _ = client.Process.Kill() }).Stop()
		}
	}
}
