package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/term"

	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

type chatCommand struct {
	Dev     string      `placeholder:"DIR" help:"Use the 'bellhop dev' that keeps its data there."`
	URL     string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"The broker (${default})."`
	Token   seal.Secret `env:"BELLHOP_TOKEN" secret:"" placeholder:"TOKEN" help:"API token; make one with 'bellhop tokens create'."`
	Task    string      `placeholder:"ID" help:"Go on with this task; without it, choose one or begin another."`
	New     string      `placeholder:"TITLE" help:"Begin a task with this title."`
	Agent   string      `placeholder:"ID" help:"Agent of a new task."`
	Project string      `placeholder:"NAME" help:"Project of a new task."`
	Message string      `short:"m" placeholder:"TEXT" help:"Send this, show the turn and end; exit 1 unless it finished."`
	Yes     bool        `help:"Allow whatever the agent asks to do."`
	Color   string      `enum:"auto,always,never" default:"auto" help:"Colour: auto, always or never."`
}

// Help is shown by --help.
func (chatCommand) Help() string {
	return `Send a line, watch the agent work, answer its questions. Ctrl-C once interrupts the turn, once more leaves it
running and ends the chat; Ctrl-D ends the chat. A dropped connection is resumed where it broke.

  bellhop chat --dev .bellhop
  BELLHOP_TOKEN=… bellhop chat --url https://bellhop.example.com --new "Fix the build"
  bellhop chat --dev .bellhop --new Tour -m "list"`
}

// Run talks until the end of input.
func (c chatCommand) Run(env *environment) error {
	connection, err := c.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	chat := &chat{
		client: connection, signals: env.signals, allowAll: c.Yes, leave: cancel,
		screen: &screen{out: env.stdout, color: c.colored(env.stdout)},
		lines:  readLines(ctx, env.stdin), interactive: isTerminal(env.stdin),
	}
	task, err := c.task(ctx, chat)
	if err != nil {
		return err
	}
	chat.task = task
	if c.Message != "" {
		return chat.once(ctx, c.Message)
	}
	return chat.talk(ctx)
}

func (c chatCommand) connect() (*client.Client, error) {
	url, token := c.URL, c.Token.Reveal()
	if c.Dev != "" {
		content, err := os.ReadFile(filepath.Join(c.Dev, "dev.json"))
		if err != nil {
			return nil, fmt.Errorf("--dev: %w (is 'bellhop dev' running with --data %s?)", err, c.Dev)
		}
		var dev app.DevFile
		if err := json.Unmarshal(content, &dev); err != nil {
			return nil, fmt.Errorf("--dev: %w", err)
		}
		url, token = dev.BrokerURL, dev.APIToken
	}
	if token == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "no API token",
			Hint: "Use --dev DIR next to a 'bellhop dev', or set BELLHOP_TOKEN (bellhop tokens create).",
		}
	}
	return client.New(url, client.Options{Token: token}), nil
}

// task is the one asked for, the one chosen, or a new one.
func (c chatCommand) task(ctx context.Context, chat *chat) (*protocol.Task, error) {
	if c.Task != "" {
		return chat.client.Task(ctx, c.Task)
	}
	title := c.New
	if title == "" && c.Message == "" && chat.interactive {
		chosen, err := chat.choose(ctx)
		if chosen != nil || err != nil {
			return chosen, err
		}
	}
	if title == "" {
		title = "Chat"
	}
	return chat.client.CreateTask(ctx, &protocol.CreateTaskRequest{Title: title, Agent: c.Agent, Project: c.Project})
}

// choose offers the newest tasks; nil means a new one.
func (c *chat) choose(ctx context.Context) (*protocol.Task, error) {
	page, err := c.client.Tasks(ctx, client.TaskQuery{Limit: 9})
	if err != nil || len(page.Tasks) == 0 {
		return nil, err
	}
	c.screen.line("Go on with a task, or press Enter to begin another:")
	for i := range page.Tasks {
		task := &page.Tasks[i]
		c.screen.line("  %d  %s %s", i+1, task.Title, c.screen.dim("("+string(task.AgentStatus)+", "+task.LastActivityAt.Local().Format("2 Jan 15:04")+")"))
	}
	c.screen.prompt("> ")
	line, ok := <-c.lines
	if n, err := strconv.Atoi(strings.TrimSpace(line)); ok && err == nil && n >= 1 && n <= len(page.Tasks) {
		return &page.Tasks[n-1], nil
	}
	return nil, nil //nolint:nilnil // no task chosen is an answer here
}

// colored follows --color, and NO_COLOR (no-color.org) when it is auto.
func (c chatCommand) colored(out io.Writer) bool {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	}
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == ""
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// readLines hands over the lines of in until its end.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

var errUnfinished = errors.New("the turn did not finish")
