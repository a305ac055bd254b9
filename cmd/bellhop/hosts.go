package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

type hostsCommand struct {
	Add    hostsAddCommand    `cmd:"" help:"Register an agent host."`
	Update hostsUpdateCommand `cmd:"" help:"Change a registered agent host."`
	List   hostsListCommand   `cmd:"" help:"List the registered agent hosts."`
}

type hostsAddCommand struct {
	databaseFlags `embed:""`

	Name     string      `required:"" help:"Name of the host."`
	URL      string      `required:"" help:"URL at which the broker reaches the host, such as http://10.0.0.7:7701."`
	Reach    string      `enum:"direct,relay" default:"direct" help:"How browsers get to its streams: 'direct', or 'relay' through the broker."`
	Password seal.Secret `name:"password-file" env:"BELLHOP_HOST_PASSWORD" secret:"" required:"" placeholder:"FILE" help:"File with the host's password, - for standard input."`
}

// Run prints the new host's id.
func (c hostsAddCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		host, err := admin.Hosts.Create(ctx, operatorCaller, &broker.HostRequest{
			Name: c.Name, URL: c.URL, Password: c.Password.Reveal(), Reach: protocol.Reach(c.Reach),
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, host.ID)
		return err
	})
}

type hostsUpdateCommand struct {
	databaseFlags `embed:""`

	Host        string      `arg:"" help:"Name or id of the host."`
	Name        *string     `help:"New name."`
	URL         *string     `help:"URL at which the broker reaches the host."`
	Reach       *string     `placeholder:"REACH" help:"How browsers get to its streams: 'direct', or 'relay' through the broker."`
	SetPassword bool        `help:"Set the password to BELLHOP_HOST_PASSWORD. The old one stays valid for 24 hours."`
	Password    seal.Secret `name:"password-file" hidden:"" env:"BELLHOP_HOST_PASSWORD" secret:"" help:"File with the host's password, - for standard input."`
}

// Run prints "updated" and the host's id. Without SetPassword it leaves the password,
// because the variable may be set for another host.
func (c hostsUpdateCommand) Run(env *environment) error {
	patch := broker.HostPatch{Name: c.Name, URL: c.URL, Reach: (*protocol.Reach)(c.Reach)}
	if c.SetPassword {
		password := c.Password.Reveal()
		patch.Password = &password
	}
	if patch == (broker.HostPatch{}) {
		return errors.New("hosts update: nothing to change; give --name, --url, --reach or --set-password")
	}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		id, err := hostByName(ctx, admin, c.Host)
		if err != nil {
			return err
		}
		if _, err := admin.Hosts.Update(ctx, operatorCaller, id, patch); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, "updated", id)
		return err
	})
}

// hostByName returns the id of the host with a name or an id.
func hostByName(ctx context.Context, admin *app.Admin, name string) (string, error) {
	hosts, err := admin.Hosts.List(ctx, operatorCaller)
	if err != nil {
		return "", err
	}
	var found []string
	for _, h := range hosts {
		switch name {
		case h.ID:
			return h.ID, nil
		case h.Name:
			found = append(found, h.ID)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return "", protocol.Errorf(protocol.CodeConflict, "%d hosts have the name %s; use an id: %s",
			len(found), name, strings.Join(found, ", "))
	}
	return "", &protocol.Error{
		Code: protocol.CodeNotFound, Message: "no host has the name or id " + name,
		Hint: "'bellhop hosts list' prints both.",
	}
}

type hostsListCommand struct {
	databaseFlags `embed:""`
}

// Run prints a table. HEALTH is the last result that a running broker stored.
func (c hostsListCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		hosts, err := admin.Hosts.List(ctx, operatorCaller)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(hosts))
		for _, h := range hosts {
			rows = append(rows, []string{h.ID, h.Name, h.URL, string(h.Reach), string(h.Health), strconv.Itoa(h.OpenTurns)})
		}
		return table(env.stdout, []string{"ID", "NAME", "URL", "REACH", "HEALTH", "OPEN TURNS"}, rows)
	})
}
