package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"bellhop/broker"
	"bellhop/internal/app"
)

type verifyCommand struct {
	databaseFlags `embed:""`

	Host          string   `placeholder:"NAME" help:"Only the tasks of this host."`
	Journal       []string `placeholder:"FILE" sep:"none" help:"Read this journal, or a copy of one, instead of asking hosts. May be repeated."`
	OutboundAllow []string `env:"BELLHOP_OUTBOUND_ALLOW" placeholder:"CIDR" help:"Private addresses that users' agent URLs may name, as for 'serve'."`
	JSON          bool     `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (verifyCommand) Help() string {
	return "Compares the events of every task with the journal of its host: their positions, their ids, their content, and " +
		"for texts the message. It can run while broker and hosts run. Events that are not acknowledged yet are no " +
		"difference. The exit code is 0 if all tasks are equal, 1 if one differs, and 4 if those that could be compared are " +
		"equal and others could not be, such as those of basic servers." + `

  bellhop verify
  bellhop verify --json --host first
  bellhop verify --journal /var/lib/bellhop/journal.db`
}

// verifyReport is what --json prints.
type verifyReport struct {
	OK         bool                   `json:"ok"`       // all tasks are equal
	Tasks      int                    `json:"tasks"`    // with events
	Sessions   int                    `json:"sessions"` // that were compared
	Differ     int                    `json:"differ"`   // of these
	Events     int64                  `json:"events"`   // of all journals
	Results    []*broker.Verification `json:"results"`
	Uncompared []uncompared           `json:"uncompared"`
}

// uncompared are tasks that could not be compared.
type uncompared struct {
	Reason string   `json:"reason"`
	Tasks  int      `json:"tasks"` // 0: a host did not answer, and no task is at it
	IDs    []string `json:"ids"`   // at most 20
}

const uncomparedShown = 20

var (
	errDiffer     = errors.New("the journals and the database differ")
	errUncompared = errors.New("not all tasks could be compared")
)

// Run compares and prints the sessions that differ, or with --json all of them.
func (c verifyCommand) Run(env *environment) error {
	allow, err := parseCIDRs("BELLHOP_OUTBOUND_ALLOW", c.OutboundAllow)
	if err != nil {
		return err
	}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		recovery, err := admin.NewRecovery(ctx, allow...)
		if err != nil {
			return err
		}
		report, skipped := &verifyReport{Results: []*broker.Verification{}}, map[string][]string{}
		progress := newStatusLine(env.stderr)
		err = recovery.Verify(ctx, app.VerifyScope{Host: c.Host, Journals: c.Journal}, app.VerifyReport{
			Task: func() { report.Tasks++ },
			Compared: func(v *broker.Verification) {
				if report.add(v); !v.OK() && !v.Differs() {
					skipped[v.Error] = append(skipped[v.Error], v.SessionID)
				}
				progress.show("%d sessions, %d events", report.Sessions, report.Events)
			},
			Uncompared: func(reason, taskID string) { skipped[reason] = append(skipped[reason], taskID) },
		})
		progress.clear()
		if err != nil {
			return err
		}
		report.skip(skipped)
		if err := c.print(env, report); err != nil {
			return err
		}
		return report.result()
	})
}

func (r *verifyReport) add(v *broker.Verification) {
	r.Events += v.Journal
	r.Results = append(r.Results, v)
	if v.OK() || v.Differs() {
		r.Sessions++
	}
	if v.Differs() {
		r.Differ++
	}
}

// skip adds the tasks that could not be compared, by reason.
func (r *verifyReport) skip(byReason map[string][]string) {
	r.Uncompared = []uncompared{}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		ids := slices.DeleteFunc(slices.Sorted(slices.Values(byReason[reason])), func(id string) bool { return id == "" })
		r.Uncompared = append(r.Uncompared, uncompared{reason, len(ids), ids[:min(len(ids), uncomparedShown)]})
	}
	r.OK = r.Differ == 0 && len(r.Uncompared) == 0
}

func (r *verifyReport) result() error {
	switch {
	case r.Differ > 0:
		return errDiffer
	case !r.OK:
		return errUncompared
	}
	return nil
}

func (c verifyCommand) print(env *environment, report *verifyReport) error {
	if c.JSON {
		return printJSON(env.stdout, report)
	}
	var rows [][]string
	for _, v := range report.Results {
		if !v.Differs() {
			continue
		}
		why := v.First
		if v.Unknown {
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
	skipped := 0
	for _, u := range report.Uncompared {
		skipped += u.Tasks
		_, _ = fmt.Fprintf(env.stdout, "%d tasks not compared: %s\n", u.Tasks, u.Reason)
		for _, id := range u.IDs {
			_, _ = fmt.Fprintln(env.stdout, "  "+id)
		}
	}
	found := fmt.Sprintf("%d sessions differ", report.Differ)
	if report.Sessions == 0 {
		found = "nothing was compared"
	}
	_, err := fmt.Fprintf(env.stdout, "%d sessions, %d events, %s, %d of %d tasks not compared\n", report.Sessions,
		report.Events, found, skipped, report.Tasks)
	return err
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
