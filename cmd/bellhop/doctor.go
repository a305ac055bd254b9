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
	databaseFlags `embed:""`

	Listen         string   `env:"BELLHOP_LISTEN" default:"127.0.0.1:7700" placeholder:"ADDR" help:"Address that the broker listens on (${default})."`
	PublicURL      string   `env:"BELLHOP_PUBLIC_URL" placeholder:"URL" help:"URL at which browsers reach the broker. Default: http://<listen>."`
	WebhookURL     string   `env:"BELLHOP_WEBHOOK_URL" placeholder:"URL" help:"URL at which agent hosts reach the broker. Default: the public URL."`
	AllowedOrigins []string `env:"BELLHOP_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Origins of other frontends, comma-separated."`
	DiskWarning    diskSize `env:"BELLHOP_DISK_WARNING" default:"1GiB" placeholder:"SIZE" help:"Free space below which a warning is shown (${default})."`

	Streams bool `help:"Also read a stream of every host for 30 s: a proxy may hold it back or cut it."`
	JSON    bool `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (doctorCommand) Help() string {
	return "Checks the database, the keyset, the running broker and every registered host, and says what to do about what it " +
		"finds. Run it with the broker's variables. The exit code is 1 if there is an error; warnings are none." + `

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
