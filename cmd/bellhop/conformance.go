package main

import (
	"errors"
	"fmt"
	"time"

	"bellhop/conformance"
	"bellhop/crypto/seal"
)

type conformanceCommand struct {
	Headless conformanceHeadless `cmd:"" help:"Drive a program that claims the headless interface on stdio."`
	Host     conformanceHost     `cmd:"" help:"Drive an agent host that claims the host's contract."`
}

type conformanceHeadless struct {
	Command []string      `arg:"" passthrough:"" name:"command" help:"The program and its arguments, after --."`
	Dir     string        `type:"existingdir" default:"." placeholder:"DIR" help:"Where the program runs (${default})."`
	Plain   string        `default:"list" placeholder:"TEXT" help:"An input that is answered (${default})."`
	Confirm string        `default:"write conformance.txt: hello" placeholder:"TEXT" help:"An input that makes it ask for a permission; - if none does (${default})."`
	Ask     string        `default:"ask Which colour?" placeholder:"TEXT" help:"An input that makes it ask a question; - if none does (${default})."`
	Slow    string        `default:"slow 100" placeholder:"TEXT" help:"An input that keeps it busy for seconds; - if none does (${default})."`
	Timeout time.Duration `default:"30s" help:"How long a line that has to come may take."`
	JSON    bool          `help:"Print the report as JSON."`
}

// Help is shown by --help.
func (conformanceHeadless) Help() string {
	return `The program is started once a check. Its inputs are those of the demo agent unless others are given.
The exit code is 1 when a check fails. Try:

  bellhop conformance headless -- bellhop agent --stdio`
}

// Run drives the program.
func (c conformanceHeadless) Run(env *environment) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return errors.New("conformance headless: name the program after --")
	}
	return showReport(env, c.JSON, conformance.Headless(env.ctx, conformance.HeadlessOptions{
		Command: command, Dir: c.Dir, Plain: c.Plain, Confirm: c.Confirm, Ask: c.Ask, Slow: c.Slow, Patience: c.Timeout,
	}))
}

type conformanceHost struct {
	URL      string        `required:"" placeholder:"URL" help:"The host, such as http://127.0.0.1:7701."`
	Password seal.Secret   `required:"" env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"PASSWORD" help:"Its agent password."`
	Agent    string        `placeholder:"NAME" help:"The agent to talk to; the host's default if absent."`
	Origin   string        `placeholder:"ORIGIN" help:"A browser origin that the host allows; without one, half of CORS is left out."`
	Listen   string        `default:"127.0.0.1:0" placeholder:"ADDR" help:"Where the webhook receiver listens (${default})."`
	Receiver string        `placeholder:"URL" help:"How the host reaches the receiver; its own address if absent."`
	Plain    string        `default:"list" placeholder:"TEXT" help:"A prompt that is answered (${default})."`
	Confirm  string        `default:"write conformance.txt: hello" placeholder:"TEXT" help:"A prompt that makes the agent ask for a permission; - if none does (${default})."`
	Slow     string        `default:"slow 100" placeholder:"TEXT" help:"A prompt that keeps it busy for seconds; - if none does (${default})."`
	Timeout  time.Duration `default:"30s" help:"How long what has to come may take."`
	JSON     bool          `help:"Print the report as JSON."`
}

// Help is shown by --help.
func (conformanceHost) Help() string {
	return `Opens sessions of its own on the host, with a webhook receiver that stands for a broker, and deletes them at the end.
The exit code is 1 when a check fails.`
}

// Run drives the host.
func (c conformanceHost) Run(env *environment) error {
	report, err := conformance.Host(env.ctx, conformance.HostOptions{
		URL: c.URL, Password: c.Password.Reveal(), Agent: c.Agent, Origin: c.Origin, Listen: c.Listen, ReceiverURL: c.Receiver,
		Plain: c.Plain, Confirm: c.Confirm, Slow: c.Slow, Patience: c.Timeout,
	})
	if err != nil {
		return err
	}
	return showReport(env, c.JSON, report)
}

// showReport prints a report; one with a failure is an error.
func showReport(env *environment, asJSON bool, report *conformance.Report) error {
	write := report.Write
	if asJSON {
		write = report.WriteJSON
	}
	if err := write(env.stdout); err != nil {
		return err
	}
	if report.Failed > 0 {
		return fmt.Errorf("%d of %d checks failed", report.Failed, len(report.Checks))
	}
	return nil
}
