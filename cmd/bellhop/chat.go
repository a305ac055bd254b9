package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

type chatCommand struct {
	devFlag `embed:""`

	URL       string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"URL of the broker (${default})."`
	Token     seal.Secret `name:"token-file" env:"BELLHOP_TOKEN" secret:"" placeholder:"FILE" help:"File with the API token. Create one with 'bellhop tokens create'."`
	Task      string      `placeholder:"ID" help:"Continue this task. Without it, choose a task or create one."`
	New       string      `placeholder:"TITLE" help:"Create a task with this title."`
	Agent     string      `placeholder:"ID" help:"Agent of a new task."`
	Project   string      `placeholder:"NAME" help:"Project of a new task."`
	Workspace string      `placeholder:"NAME" help:"Start a new task in this workspace, which an agent of yours created with workspace_create."`
	Branch    string      `placeholder:"NAME" help:"Branch of the project that a new task starts from. Without it, the project's default."`
	Model     string      `placeholder:"NAME" help:"Model of the agent of a new task. Without it, the host's default."`
	Mode      string      `name:"permission-mode" enum:",plan,ask,accept-edits,auto" default:"" placeholder:"MODE" help:"How much the task asks from now on: plan, ask, accept-edits or auto. What a rule denies stays denied."`
	Message   string      `short:"m" placeholder:"TEXT" help:"Send this message, show the turn and exit. The exit code is 1 if the turn did not finish."`
	Yes       bool        `help:"Answer every permission question with yes."`
	Force     bool        `name:"take-over" help:"Also send while the agent's terminal client is open (bellhop attach), which is closed first."`
	Color     string      `enum:"auto,always,never" default:"auto" help:"Colour: auto, always or never."`
}

// Help is shown by --help.
func (chatCommand) Help() string {
	return `Send a line, watch the agent work, answer its questions. Ctrl-C once interrupts the turn; a second Ctrl-C ends the
chat and leaves the turn open. Ctrl-D ends the chat. After a lost connection the chat resumes without loss.

  bellhop chat --dev .bellhop
  BELLHOP_TOKEN=… bellhop chat --url https://bellhop.example.com --new "Fix the build"
  bellhop chat --dev .bellhop --new Tour -m "list"
  bellhop chat --dev .bellhop --new "Continue the fix" --workspace fix`
}

// Run sends lines until the end of input.
func (c chatCommand) Run(env *environment) error {
	connection, err := c.newClient()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	chat := &chat{
		client: connection, signals: env.signals, allowAll: c.Yes, cancel: cancel,
		screen: &screen{out: env.stdout, color: c.useColor(env.stdout)},
		lines:  readLines(ctx, env.stdin), interactive: isTerminal(env.stdin),
		mode: protocol.PermissionMode(c.Mode),
	}
	task, err := c.selectTask(ctx, chat)
	if err != nil {
		return err
	}
	chat.task = task
	if c.Message != "" {
		return chat.sendOne(ctx, c.Message)
	}
	return chat.converse(ctx)
}

func (c chatCommand) newClient() (*client.Client, error) {
	to, err := c.connect(connection{c.URL, c.Token}, func(dev app.DevFile) connection {
		return connection{dev.BrokerURL, seal.NewSecret(dev.APIToken)}
	}, &protocol.Error{
		Code: protocol.CodeInvalid, Message: "no API token",
		Hint: "Use --dev DIR next to a 'bellhop dev', or set BELLHOP_TOKEN (bellhop tokens create).",
	})
	if err != nil {
		return nil, err
	}
	return client.New(to.url, client.Options{Token: to.secret.Reveal(), Force: c.Force}), nil
}

// selectTask returns the task of --task, a task that the user chooses, or a new
// one.
func (c chatCommand) selectTask(ctx context.Context, chat *chat) (*protocol.Task, error) {
	if c.Task != "" {
		return chat.client.Task(ctx, c.Task)
	}
	title := c.New
	if title == "" && c.Message == "" && chat.interactive {
		chosen, err := chat.chooseTask(ctx)
		if chosen != nil || err != nil {
			return chosen, err
		}
	}
	if title == "" {
		title = "Chat"
	}
	return chat.client.CreateTask(ctx, &protocol.CreateTaskRequest{
		Title: title, Agent: c.Agent, Project: c.Project, Model: c.Model, Workspace: c.Workspace,
		Branch: c.Branch,
	})
}

// chooseTask lists the newest tasks. It returns nil if the user chooses none.
func (c *chat) chooseTask(ctx context.Context) (*protocol.Task, error) {
	page, err := c.client.Tasks(ctx, client.TaskQuery{Limit: 9})
	if err != nil || len(page.Tasks) == 0 {
		return nil, err
	}
	c.screen.line("Choose a task to continue, or press Enter to create one:")
	for i := range page.Tasks {
		task := &page.Tasks[i]
		status := fmt.Sprintf("(%s, %s)", task.AgentStatus, task.LastActivityAt.Local().Format("2 Jan 15:04"))
		c.screen.line("  %d  %s %s", i+1, task.Title, c.screen.dim(status))
	}
	c.screen.prompt("> ")
	line, ok := <-c.lines
	if n, err := strconv.Atoi(strings.TrimSpace(line)); ok && err == nil && n >= 1 && n <= len(page.Tasks) {
		return &page.Tasks[n-1], nil
	}
	return nil, nil //nolint:nilnil // the user may choose no task
}

// useColor evaluates --color. With auto it is true on a terminal unless NO_COLOR
// (no-color.org) is set.
func (c chatCommand) useColor(out io.Writer) bool {
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

// readLines sends the lines of in on the channel and closes it at the end of input.
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
