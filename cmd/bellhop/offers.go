package main

import (
	"fmt"
	"strings"

	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// offerFlags are the flags of commands that show what the hosts of a broker offer.
type offerFlags struct {
	URL   string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"URL of the broker (${default})."`
	Token seal.Secret `name:"token-file" env:"BELLHOP_TOKEN" secret:"" required:"" placeholder:"FILE" help:"File with the API token of any user."`
	JSON  bool        `name:"json" help:"Print JSON."`
}

func (c offerFlags) list(env *environment) (*protocol.OfferList, error) {
	broker := client.New(c.URL, client.Options{Token: c.Token.Reveal()})
	defer broker.CloseIdleConnections()
	return broker.Agents(env.ctx)
}

type agentsOfferedCommand struct {
	offerFlags `embed:""`
}

// Help is shown by --help.
func (agentsOfferedCommand) Help() string {
	return `Every registered host describes its agents itself. Of a host that does not answer, the last description is shown.
KEY says whether the host has a key of the agent's language model; "?" means that the host cannot know.

  bellhop agents offered`
}

// Run prints a line for each agent of each host, and one for a host without a description.
func (c agentsOfferedCommand) Run(env *environment) error {
	list, err := c.list(env)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.stdout, list)
	}
	var rows [][]string
	for i := range list.Hosts {
		h := &list.Hosts[i]
		if h.Offer == nil {
			rows = append(rows, []string{hostShown(h), "-", "-", "-", "-", h.Problem})
			continue
		}
		for _, a := range h.Offer.Agents {
			rows = append(rows, []string{
				hostShown(h), a.ID, orDash(a.Version), keyShown(a.HasKey), orDash(a.DefaultModel), agentShown(&a),
			})
		}
	}
	return table(env.stdout, []string{"HOST", "AGENT", "VERSION", "KEY", "MODEL", "STATE"}, rows)
}

type projectsCommand struct {
	offerFlags `embed:""`
}

// Help is shown by --help.
func (projectsCommand) Help() string {
	return `Every registered host describes its projects itself. A project that the host has not cloned yet has no branches.

  bellhop projects`
}

// Run prints a line for each project of each host.
func (c projectsCommand) Run(env *environment) error {
	list, err := c.list(env)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.stdout, list.Hosts)
	}
	var rows [][]string
	for i := range list.Hosts {
		h := &list.Hosts[i]
		if h.Offer == nil {
			rows = append(rows, []string{hostShown(h), "-", "-", h.Problem})
			continue
		}
		for _, p := range h.Offer.Projects {
			shown := strings.Join(p.Branches, " ")
			if p.Problem != "" {
				shown = p.Problem
			}
			rows = append(rows, []string{hostShown(h), p.Name, orDash(p.DefaultBranch), orDash(shown)})
		}
	}
	return table(env.stdout, []string{"HOST", "PROJECT", "DEFAULT", "BRANCHES"}, rows)
}

func hostShown(h *protocol.OfferingHost) string {
	if h.Online {
		return h.Name
	}
	return fmt.Sprintf("%s (offline)", h.Name)
}

func agentShown(a *protocol.OfferedAgent) string {
	if a.Installed {
		return "installed"
	}
	return a.Problem
}

func keyShown(has *bool) string {
	switch {
	case has == nil:
		return "?"
	case *has:
		return "yes"
	default:
		return "no"
	}
}
