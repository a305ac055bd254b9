package main

import (
	"fmt"
	"time"

	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

type adoptCommand struct {
	URL   string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"URL of the broker (${default})."`
	Token seal.Secret `name:"token-file" env:"BELLHOP_TOKEN" secret:"" required:"" placeholder:"FILE" help:"File with the API token of an administrator."`
	Email string      `placeholder:"EMAIL" help:"User who gets the tasks. Without it, their owners."`
	Title string      `placeholder:"TEXT" help:"Title of the task. Without it, the title that the host knows."`
	All   bool        `help:"Adopt every orphan."`
	JSON  bool        `name:"json" help:"Print JSON."`

	Session []string `arg:"" optional:"" help:"Sessions to adopt. Without any, the orphans are listed."`
}

// Help is shown by --help.
func (adoptCommand) Help() string {
	return "An orphan is a session of a host whose task the broker does not have, because its database was restored " +
		"from a backup that is older than the task. The host has kept all of its events. Adopting the session creates " +
		"the task again; the host then sends the events and the users' messages." + `

  bellhop adopt
  bellhop adopt --all
  bellhop adopt --email ada@example.com 01989c3e-6f0a-7c59-8a5e-2f4d2b1c9d10`
}

// Run lists the orphans, or adopts those that are named.
func (c adoptCommand) Run(env *environment) error {
	broker := client.New(c.URL, client.Options{Token: c.Token.Reveal()})
	list, err := broker.Orphans(env.ctx)
	if err != nil {
		return err
	}
	for _, name := range list.Unreachable {
		_, _ = fmt.Fprintf(env.stderr, "host %s cannot be reached: its orphans are not listed\n", name)
	}
	if len(c.Session) == 0 && !c.All {
		return c.print(env, list)
	}
	chosen, err := c.choose(list.Orphans)
	if err != nil {
		return err
	}
	adopted := []protocol.Task{}
	for i := range chosen {
		task, err := broker.Adopt(env.ctx, chosen[i].Session.SessionID, &protocol.AdoptRequest{
			HostID: chosen[i].HostID, Email: c.Email, Title: c.Title,
		})
		if err != nil {
			return fmt.Errorf("session %s: %w", chosen[i].Session.SessionID, err)
		}
		adopted = append(adopted, *task)
		if !c.JSON {
			_, _ = fmt.Fprintln(env.stdout, "adopted", task.ID, task.Title)
		}
	}
	if c.JSON {
		return printJSON(env.stdout, adopted)
	}
	return nil
}

func (c adoptCommand) choose(orphans []protocol.Orphan) ([]protocol.Orphan, error) {
	if c.All {
		return orphans, nil
	}
	var chosen []protocol.Orphan
	for _, id := range c.Session {
		found := false
		for i := range orphans {
			if orphans[i].Session.SessionID == id {
				chosen, found = append(chosen, orphans[i]), true
				break
			}
		}
		if !found {
			return nil, &protocol.Error{
				Code: protocol.CodeNotFound, Message: "no orphan has the id " + id, Hint: "'bellhop adopt' lists the orphans.",
			}
		}
	}
	return chosen, nil
}

func (c adoptCommand) print(env *environment, list *protocol.OrphanList) error {
	if c.JSON {
		return printJSON(env.stdout, list)
	}
	rows := make([][]string, 0, len(list.Orphans))
	for i := range list.Orphans {
		o := &list.Orphans[i]
		rows = append(rows, []string{
			o.Session.SessionID, o.HostName, orDash(o.Email), orDash(o.Session.Title), o.Session.Agent,
			o.Session.LastActivityAt.UTC().Format(time.RFC3339),
		})
	}
	return table(env.stdout, []string{"SESSION", "HOST", "OWNER", "TITLE", "AGENT", "LAST ACTIVITY"}, rows)
}
