package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"bellhop/broker"
	"bellhop/internal/app"
)

type verifyCommand struct {
	databaseFlags `embed:""`

	Host    string `placeholder:"NAME" help:"Only this host. Without it, every registered host."`
	Journal string `placeholder:"FILE" help:"Read this journal, or a copy of one, instead of asking hosts."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (verifyCommand) Help() string {
	return "Compares every event of the journals with the database: its position, its id, its content, and for texts " +
		"the message. It can run while broker and hosts run. Events that are not acknowledged yet are no difference. " +
		"The exit code is 1 if a session differs or could not be compared." + `

  bellhop verify
  bellhop verify --json --host first
  bellhop verify --journal /var/lib/bellhop/journal.db`
}

// verifyReport is what --json prints.
type verifyReport struct {
	OK       bool                   `json:"ok"`
	Sessions int                    `json:"sessions"`
	Events   int64                  `json:"events"` // of all journals
	Results  []*broker.Verification `json:"results"`
	Errors   []string               `json:"errors"` // hosts that could not be read
}

// Run compares and prints the sessions that differ, or with --json all of them.
func (c verifyCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		recovery, err := admin.NewRecovery(ctx)
		if err != nil {
			return err
		}
		report := &verifyReport{OK: true, Results: []*broker.Verification{}, Errors: []string{}}
		progress := newStatusLine(env.stderr)
		add := func(v *broker.Verification) {
			report.add(v)
			progress.show("%d sessions, %d events", report.Sessions, report.Events)
		}
		err = c.verify(ctx, recovery, report, add)
		progress.clear()
		if err != nil {
			return err
		}
		if err := c.print(env, report); err != nil || report.OK {
			return err
		}
		return errors.New("the journals and the database differ")
	})
}

func (c verifyCommand) verify(
	ctx context.Context, recovery *app.Recovery, report *verifyReport, add func(*broker.Verification),
) error {
	if c.Journal != "" {
		return recovery.VerifyFile(ctx, c.Journal, add)
	}
	hosts, err := recovery.Hosts(ctx, c.Host)
	if err != nil {
		return err
	}
	for i := range hosts {
		if err := recovery.VerifyHost(ctx, &hosts[i], add); err != nil {
			report.OK = false
			report.Errors = append(report.Errors, fmt.Sprintf("host %s: %v", hosts[i].Name, err))
		}
	}
	return nil
}

func (r *verifyReport) add(v *broker.Verification) {
	r.OK = r.OK && v.OK()
	r.Sessions++
	r.Events += v.Journal
	r.Results = append(r.Results, v)
}

func (c verifyCommand) print(env *environment, report *verifyReport) error {
	if c.JSON {
		return printJSON(env.stdout, report)
	}
	for _, problem := range report.Errors {
		_, _ = fmt.Fprintln(env.stdout, problem)
	}
	var rows [][]string
	for _, v := range report.Results {
		if v.OK() {
			continue
		}
		why := v.First
		switch {
		case v.Error != "":
			why = v.Error
		case v.Unknown:
			why = "the broker has no such task ('bellhop adopt')"
		}
		rows = append(rows, []string{
			v.SessionID, count(v.Journal), count(v.Missing), count(v.Different), count(v.Invented), count(v.Messages), why,
		})
	}
	if len(rows) > 0 {
		if err := table(env.stdout, []string{"SESSION", "EVENTS", "MISSING", "DIFFERENT", "INVENTED", "MESSAGES", "FIRST"},
			rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(env.stdout, "%d sessions, %d events, %d sessions differ\n", report.Sessions,
		report.Events, len(rows))
	return err
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
