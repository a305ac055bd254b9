package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/docker/go-units"

	"bellhop/internal/sizing"
	"bellhop/protocol"
)

// simulateCommand says where an installation has its next bottleneck.
type simulateCommand struct {
	Users int `required:"" help:"Users of the installation, up to 10 million."`
	Hosts int `required:"" help:"Agent hosts, up to 100,000."`

	Pattern    string        `default:"office" help:"Pattern of the day, of: ${patterns} (${default})."`
	Agent      string        `default:"claude" help:"Agent whose memory working sessions take, of: ${sizedAgents} (${default})."`
	AgentCores float64       `default:"0.5" help:"Cores of a host that a working agent and its programs take (${default}); nothing measures it for your code."`
	Active     float64       `default:"0.3" help:"Share of the users who work on a day (${default})."`
	Visits     float64       `default:"3" help:"Tasks that an active user works on in a day (${default})."`
	Turns      float64       `default:"4" help:"Turns of a task, one after the other (${default})."`
	Turn       time.Duration `default:"3m" help:"Mean length of a turn (${default})."`
	Think      time.Duration `default:"2m" help:"Mean pause between two turns of a task (${default})."`
	Events     float64       `default:"20" help:"Events of a turn (${default})."`
	Batch      float64       `default:"1" help:"Events in a webhook request (${default})."`
	Parts      float64       `default:"10" help:"Parts of a turn's stream a second (${default})."`
	PartBytes  float64       `default:"300" help:"Bytes of a part on the network (${default})."`
	Readers    float64       `default:"1.2" help:"Readers of a turn's stream (${default})."`
	Deliveries float64       `default:"0.5" help:"Outbound webhooks for a turn (${default})."`
	Sessions   float64       `default:"20" help:"Sessions that a user keeps (${default})."`

	Brokers       int           `default:"2" help:"Replicas of the broker (${default})."`
	BrokerCores   int           `default:"4" help:"Cores of a replica (${default})."`
	DatabaseCores int           `default:"8" help:"Cores of PostgreSQL (${default})."`
	HostCores     int           `default:"8" help:"Cores of a host (${default})."`
	HostMemory    string        `default:"32GiB" placeholder:"SIZE" help:"Memory of a host (${default})."`
	HostNetwork   float64       `default:"1000" placeholder:"MBIT" help:"Network of a host, in Mbit/s (${default})."`
	Receiver      time.Duration `default:"50ms" help:"Mean time in which users' webhooks answer (${default})."`

	Figures string `type:"existingfile" placeholder:"FILE" help:"Output of 'bellhop bench', in place of the published figures."`
	Seed    uint64 `default:"1" help:"Seed of the random numbers (${default})."`
	Jobs    int    `default:"1000000" help:"Check-ins, requests and deliveries to simulate; of more in a day a sample is taken (${default})."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (simulateCommand) Help() string {
	return `Simulates a day of users on the measured costs of check-ins, events, streams and deliveries, and prints the load of every part, the next bottleneck and how many users it suffices for. It starts nothing and asks no server. docs/sizing.md describes the model and what it leaves out.

  bellhop simulate --users 1000 --hosts 10
  bellhop bench > figures.md && bellhop simulate --users 1000 --hosts 10 --figures figures.md`
}

// Run simulates and prints the report.
func (c simulateCommand) Run(env *environment) error {
	figures, err := c.figures()
	if err != nil {
		return err
	}
	memory, err := units.RAMInBytes(c.HostMemory)
	if err != nil {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("--host-memory is %q, which is no size", c.HostMemory),
			Hint: "Give a number with a unit, such as 32GiB.",
		}
	}
	report, err := sizing.Simulate(env.ctx, sizing.Options{
		Use: sizing.Use{
			Users: c.Users, Pattern: c.Pattern, Agent: c.Agent, AgentCores: c.AgentCores, Active: c.Active,
			Visits: c.Visits, Turns: c.Turns, Turn: c.Turn, Think: c.Think, Events: c.Events, Batch: c.Batch,
			Parts: c.Parts, PartBytes: c.PartBytes, Readers: c.Readers, Deliveries: c.Deliveries, Sessions: c.Sessions,
		},
		Deployment: sizing.Deployment{
			Hosts: c.Hosts, Brokers: c.Brokers, BrokerCores: c.BrokerCores, DatabaseCores: c.DatabaseCores,
			HostCores: c.HostCores, HostMemory: float64(memory), HostNetwork: c.HostNetwork * 1e6, Receiver: c.Receiver,
		},
		Figures: figures, Seed: c.Seed, Jobs: c.Jobs,
	})
	switch {
	case err != nil:
		return err
	case c.JSON:
		return printJSON(env.stdout, report)
	default:
		return report.WriteText(env.stdout)
	}
}

// figures returns the published figures, with those of the user's file in their places.
func (c simulateCommand) figures() (sizing.Figures, error) {
	figures, err := sizing.Published()
	if err != nil || c.Figures == "" {
		return figures, err
	}
	content, err := os.ReadFile(c.Figures)
	if err != nil {
		return sizing.Figures{}, errors.New("cannot read the figures: " + err.Error())
	}
	own, err := sizing.ReadFigures(c.Figures, string(content))
	return figures.Replace(own), err
}

// simulateVars are the values in the help of the simulation.
func simulateVars() map[string]string {
	return map[string]string{
		"patterns": strings.Join(sizing.Patterns(), ", "), "sizedAgents": strings.Join(sizing.Agents(), ", "),
	}
}
