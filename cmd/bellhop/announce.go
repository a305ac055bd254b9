package main

import (
	"fmt"
	"time"

	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

type announceCommand struct {
	URL   string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"URL of the broker (${default})."`
	Token seal.Secret `name:"token-file" env:"BELLHOP_TOKEN" secret:"" required:"" placeholder:"FILE" help:"File with the API token of an administrator; any user's for the list."`

	Level  string        `enum:"info,success,warning,error" default:"info" help:"How urgent it is: info, success, warning or error (${default})."`
	For    time.Duration `default:"24h" placeholder:"TIME" help:"How long it holds, from 10s to 720h (${default})."`
	ID     string        `placeholder:"ID" help:"Id of the announcement. With it, the command may be repeated."`
	Cancel string        `placeholder:"ID" help:"Take this announcement back instead."`
	JSON   bool          `name:"json" help:"Print JSON."`

	Text string `arg:"" optional:"" help:"Text for all users. Without it, the announcements that hold are listed."`
}

// Help is shown by --help.
func (announceCommand) Help() string {
	return "Every console shows an announcement, and so does every client of the headless interface of each " +
		"registered host. It disappears when its time is over or it is taken back." + `

  bellhop announce --level warning --for 2h 'The broker restarts at 18:00 UTC.'
  bellhop announce
  bellhop announce --cancel 01989c3e-6f0a-7c59-8a5e-2f4d2b1c9d10`
}

// Run announces the text and prints the id, takes an announcement back, or lists them.
func (c announceCommand) Run(env *environment) error {
	broker := client.New(c.URL, client.Options{Token: c.Token.Reveal()})
	switch {
	case c.Cancel != "" && c.Text != "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "announce: a text and --cancel do not go together",
			Hint: "Run the command twice",
		}
	case c.Cancel != "":
		if err := broker.CancelAnnouncement(env.ctx, c.Cancel); err != nil {
			return err
		}
		_, err := fmt.Fprintln(env.stdout, "taken back", c.Cancel)
		return err
	case c.Text == "":
		return c.list(env, broker)
	case c.For < time.Second: // 0 seconds would stand for the default
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "--for is shorter than 10s",
			Hint: "Give a time from 10s to 720h.",
		}
	}
	made, err := broker.Announce(env.ctx, &protocol.AnnounceRequest{
		Text: c.Text, Level: protocol.AnnouncementLevel(c.Level), ExpiresIn: int64(c.For / time.Second), AnnouncementID: c.ID,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.stdout, made)
	}
	_, err = fmt.Fprintln(env.stdout, made.ID)
	return err
}

func (c announceCommand) list(env *environment, broker *client.Client) error {
	list, err := broker.Announcements(env.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.stdout, list)
	}
	rows := make([][]string, 0, len(list.Announcements))
	for i := range list.Announcements {
		a := &list.Announcements[i]
		rows = append(rows, []string{a.ID, string(a.Level), a.ExpiresAt.UTC().Format(time.RFC3339), a.Text})
	}
	return table(env.stdout, []string{"ID", "LEVEL", "EXPIRES", "TEXT"}, rows)
}
