package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"bellhop/broker"
	"bellhop/internal/app"
	"bellhop/protocol"
)

type reconcileCommand struct {
	databaseFlags `embed:""`

	All     bool          `help:"Reconcile every session of the hosts."`
	Host    string        `placeholder:"NAME" help:"Only this host. Without it, every registered host."`
	Timeout time.Duration `default:"10m" help:"Longest time for each host (${default})."`
	JSON    bool          `name:"json" help:"Print JSON."`

	Session []string `arg:"" optional:"" help:"Sessions to reconcile, instead of --all."`
}

// Help is shown by --help.
func (reconcileCommand) Help() string {
	return "Hosts do this by themselves after a restore or a failover. The command does it now: each host compares its " +
		"sessions with the database and sends again what is missing. A broker must run. The exit code is 1 if a host " +
		"cannot be reached, or is not done in time." + `

  bellhop reconcile --all
  bellhop reconcile --host first 01989c3e-6f0a-7c59-8a5e-2f4d2b1c9d10`
}

// reconciled is the outcome of one host.
type reconciled struct {
	Host string `json:"host"`
	*protocol.ReconcileResponse
	Error string `json:"error,omitempty"`
}

// Run asks the hosts one after another and prints what they answered.
func (c reconcileCommand) Run(env *environment) error {
	if c.All == (len(c.Session) > 0) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "name the sessions, or give --all", Hint: "See: bellhop reconcile --help",
		}
	}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		recovery, err := admin.NewRecovery(ctx)
		if err != nil {
			return err
		}
		hosts, err := recovery.Hosts(ctx, c.Host)
		if err != nil {
			return err
		}
		outcomes := make([]reconciled, 0, len(hosts))
		failed := false
		for i := range hosts {
			outcome := c.reconcile(ctx, env, recovery, &hosts[i])
			failed = failed || outcome.Error != ""
			outcomes = append(outcomes, outcome)
		}
		if err := c.print(env.stdout, outcomes); err != nil || !failed {
			return err
		}
		return errors.New("not every host was reconciled")
	})
}

func (c reconcileCommand) reconcile(
	ctx context.Context, env *environment, recovery *app.Recovery, host *broker.Host,
) reconciled {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	out := reconciled{Host: host.Name, ReconcileResponse: &protocol.ReconcileResponse{}}
	progress := newStatusLine(env.stderr)
	err := recovery.Reconcile(ctx, host, c.Session, func(answer *protocol.ReconcileResponse) {
		out.ReconcileResponse = answer
		progress.show("%s: %d of %d sessions compared, %d events to send",
			host.Name, answer.Sessions-answer.Pending, answer.Sessions, answer.Unacknowledged)
	})
	progress.clear()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		out.Error = fmt.Sprintf("not done within %v", c.Timeout)
	case err != nil:
		out.Error = err.Error()
	}
	return out
}

func (c reconcileCommand) print(w io.Writer, outcomes []reconciled) error {
	if c.JSON {
		return printJSON(w, outcomes)
	}
	rows := make([][]string, 0, len(outcomes))
	for _, o := range outcomes {
		state := "reconciled"
		if o.Error != "" {
			state = o.Error
		}
		rows = append(rows, []string{
			o.Host, strconv.Itoa(o.Sessions), strconv.Itoa(o.Pending), strconv.Itoa(o.Unknown),
			strconv.FormatInt(o.Unacknowledged, 10), state,
		})
	}
	return table(w, []string{"HOST", "SESSIONS", "PENDING", "UNKNOWN", "UNACKNOWLEDGED", "STATE"}, rows)
}

// statusLine is one line on a terminal that changes. Elsewhere it shows nothing.
type statusLine struct {
	out  io.Writer
	next time.Time
}

const statusLineEvery = 100 * time.Millisecond

func newStatusLine(out io.Writer) *statusLine {
	if file, ok := out.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		out = io.Discard
	}
	return &statusLine{out: out}
}

func (l *statusLine) show(format string, args ...any) {
	if now := time.Now(); now.After(l.next) {
		l.next = now.Add(statusLineEvery)
		_, _ = fmt.Fprintf(l.out, "\r\x1b[K"+format, args...)
	}
}

func (l *statusLine) clear() { _, _ = io.WriteString(l.out, "\r\x1b[K") }
