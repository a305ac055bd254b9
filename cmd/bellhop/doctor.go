package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"bellhop/internal/app"
	"bellhop/internal/doctor"
)

type doctorCommand struct {
	brokerFlags `embed:""`

	Streams bool `help:"Also read a stream of every host for 30 s: a proxy may hold it back or cut it."`
	JSON    bool `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (doctorCommand) Help() string {
	return "Checks the database, the keyset, the running broker and every registered host, and says what to do about " +
		"what it finds. Run it with the broker's variables. The exit code is 1 if there is an error; warnings are none." + `

  bellhop doctor
  bellhop doctor --streams --json`
}

// Run checks everything and prints the findings.
func (c doctorCommand) Run(env *environment) error {
	report := app.Diagnose(env.ctx, app.DoctorConfig{
		StoreConfig: c.config(env), PublicURL: cmp.Or(c.PublicURL, "http://"+c.Listen), WebhookURL: c.WebhookURL,
		Origins: c.AllowedOrigins, DiskWarning: int64(c.DiskWarning), Streams: c.Streams,
	})
	if err := c.print(env.stdout, report); err != nil || report.OK {
		return err
	}
	return errors.New("the doctor found errors")
}

func (c doctorCommand) print(w io.Writer, report *doctor.Report) error {
	if c.JSON {
		return printJSON(w, report)
	}
	for _, f := range report.Findings {
		where := ""
		if f.Where != "" {
			where = " " + f.Where + ":"
		}
		if _, err := fmt.Fprintf(w, "%-7s %s:%s %s\n", f.Level, f.Check, where, f.Message); err != nil {
			return err
		}
		if f.Remedy != "" {
			if _, err := fmt.Fprintf(w, "        %s\n", f.Remedy); err != nil {
				return err
			}
		}
	}
	return nil
}
