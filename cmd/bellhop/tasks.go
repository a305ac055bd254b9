package main

import (
	"errors"
	"os"

	"bellhop/client"
	"bellhop/crypto/seal"
)

type tasksCommand struct {
	Export tasksExportCommand `cmd:"" help:"Write a task as Markdown."`
}

// callerFlags are the flags of commands that act for a user of a broker.
type callerFlags struct {
	URL   string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"URL of the broker (${default})."`
	Token seal.Secret `name:"token-file" env:"BELLHOP_TOKEN" secret:"" required:"" placeholder:"FILE" help:"File with the API token of the user."`
}

func (c callerFlags) client() *client.Client {
	return client.New(c.URL, client.Options{Token: c.Token.Reveal()})
}

type tasksExportCommand struct {
	callerFlags `embed:""`

	Masked bool   `help:"Replace secrets, as far as they have a known form, and the host's address."`
	Output string `short:"o" placeholder:"FILE" help:"File to write; it must not exist. Default: standard output."`
	Task   string `arg:"" help:"Id of the task; it is in the address of its page."`
}

// Help is shown by --help.
func (tasksExportCommand) Help() string {
	return "The document has messages, tool calls, questions with their answers, changes, and how turns ended. " +
		"'bellhop export' writes archives of all tasks instead." + `

  bellhop tasks export 01989c3e-6f0a-7c59-8a5e-2f4d2b1c9d10 --masked -o task.md`
}

// Run writes the document to a file or to standard output. After an error there is no file.
func (c tasksExportCommand) Run(env *environment) error {
	broker := c.client()
	defer broker.CloseIdleConnections()
	if c.Output == "" {
		return broker.Export(env.ctx, c.Task, c.Masked, env.stdout)
	}
	file, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(broker.Export(env.ctx, c.Task, c.Masked, file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(c.Output))
	}
	return nil
}
