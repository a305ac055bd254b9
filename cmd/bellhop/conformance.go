package main

import (
	"errors"
	"fmt"
	"time"

	"bellhop/conformance"
	"bellhop/crypto/seal"
)

type conformanceCommand struct {
	Headless conformanceHeadless `cmd:"" help:"Check a program that implements the headless interface on stdio."`
	Basic    conformanceBasic    `cmd:"" help:"Check a server that knows only the basic flow."`
	Host     conformanceHost     `cmd:"" help:"Check a server that implements the protocol of agent hosts."`
}

type conformanceBasic struct {
	URL      string        `arg:"" help:"URL of the server, such as http://127.0.0.1:8080."`
	Password seal.Secret   `name:"password-file" required:"" env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"FILE" help:"File with the password that the server expects at /session."`
	Prompt   string        `default:"Say hello" placeholder:"TEXT" help:"Prompt that the agent answers with a text (${default})."`
	Timeout  time.Duration `default:"30s" help:"Time limit for each expected response or event (${default})."`
	JSON     bool          `help:"Print the report as JSON."`
}

// Help is shown by --help.
func (conformanceBasic) Help() string {
	return `For servers that know only /session, /stream/:id?token= and the webhook of single events.
It runs about eight turns of the agent. A webhook receiver on this machine takes the broker's place.
The exit code is 1 when a check fails.`
}

// Run checks the server and prints the report.
func (c conformanceBasic) Run(env *environment) error {
	report, err := conformance.Basic(env.ctx, conformance.BasicOptions{
		URL: c.URL, Password: c.Password.Reveal(), Prompt: c.Prompt, Patience: c.Timeout,
	})
	if err != nil {
		return err
	}
	return showReport(env, c.JSON, report)
}

type conformanceHeadless struct {
	Command []string      `arg:"" passthrough:"" name:"command" help:"The program and its arguments, after --."`
	Dir     string        `type:"existingdir" default:"." placeholder:"DIR" help:"Working directory of the program (${default})."`
	Plain   string        `default:"list" placeholder:"TEXT" help:"Input that the program answers without a question (${default})."`
	Confirm string        `default:"write conformance.txt: hello" placeholder:"TEXT" help:"Input that makes it ask for a permission; - if no input does (${default})."`
	Ask     string        `default:"ask Which colour?" placeholder:"TEXT" help:"Input that makes it ask a question; - if no input does (${default})."`
	Slow    string        `default:"slow 100" placeholder:"TEXT" help:"Input that keeps it busy for seconds; - if no input does (${default})."`
	Timeout time.Duration `default:"30s" help:"Time limit for each expected line (${default})."`
	JSON    bool          `help:"Print the report as JSON."`
}

// Help is shown by --help.
func (conformanceHeadless) Help() string {
	return `Every check starts the program once. The default inputs are for the demo agent.
The exit code is 1 when a check fails. Try:

  bellhop conformance headless -- bellhop agent --stdio`
}

// Run checks the program and prints the report.
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
	URL      string        `required:"" placeholder:"URL" help:"URL of the host, such as http://127.0.0.1:7701."`
	Password seal.Secret   `name:"password-file" required:"" env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"FILE" help:"File with the host's password."`
	Agent    string        `placeholder:"NAME" help:"Agent to use. Default: the host's default agent."`
	Origin   string        `placeholder:"ORIGIN" help:"An origin that the host allows. Without it, the checks of allowed origins are skipped."`
	Listen   string        `default:"127.0.0.1:0" placeholder:"ADDR" help:"Address on which the webhook receiver listens (${default})."`
	Receiver string        `placeholder:"URL" help:"URL at which the host reaches the receiver. Default: the address it listens on."`
	Plain    string        `default:"list" placeholder:"TEXT" help:"Prompt that the agent answers without a question (${default})."`
	Confirm  string        `default:"write conformance.txt: hello" placeholder:"TEXT" help:"Prompt that makes the agent ask for a permission; - if no prompt does (${default})."`
	Slow     string        `default:"slow 100" placeholder:"TEXT" help:"Prompt that keeps it busy for seconds; - if no prompt does (${default})."`
	Timeout  time.Duration `default:"30s" help:"Time limit for each expected response or event (${default})."`
	JSON     bool          `help:"Print the report as JSON."`
}

// Help is shown by --help.
func (conformanceHost) Help() string {
	return `Opens test sessions on the host and deletes them at the end. A webhook receiver takes the broker's place.
The exit code is 1 when a check fails.`
}

// Run checks the host and prints the report.
func (c conformanceHost) Run(env *environment) error {
	report, err := conformance.Host(env.ctx, conformance.HostOptions{
		URL: c.URL, Password: c.Password.Reveal(), Agent: c.Agent, Origin: c.Origin, Listen: c.Listen,
		ReceiverURL: c.Receiver, Plain: c.Plain, Confirm: c.Confirm, Slow: c.Slow, Patience: c.Timeout,
	})
	if err != nil {
		return err
	}
	return showReport(env, c.JSON, report)
}

// showReport prints a report. It returns an error if a check failed.
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
