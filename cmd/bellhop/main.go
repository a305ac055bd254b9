// Command bellhop is the broker, the agent host, the headless agent, the
// terminal client and the administration of Bellhop in one binary: one file
// per subcommand, each turning flags and environment into a configuration of
// internal/app.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "dev"

const description = `Bellhop checks users in to remote coding agents: the broker signs users in and keeps what agents did,
the browser streams directly from the agent host, and no event is lost or doubled on the way.

Start with "bellhop dev": broker, agent host and a demo agent on this machine, nothing to configure.`

// commands is the command line; protocol section 5 lists the names and
// variables that are part of the contract.
type commands struct {
	Dev         devCommand         `cmd:"" help:"Run broker, agent host and demo agent on this machine, on an embedded database."`
	Serve       serveCommand       `cmd:"" help:"Run the broker."`
	Host        hostCommand        `cmd:"" help:"Run an agent host next to the code."`
	Agents      agentsCommand      `cmd:"" help:"Manage the programs of real agents: OpenCode, Claude Code, Codex, Gemini."`
	Agent       agentCommand       `cmd:"" help:"Run the headless agent: JSON lines on stdin and stdout."`
	Chat        chatCommand        `cmd:"" help:"Talk with an agent in the terminal."`
	Attach      attachCommand      `cmd:"" help:"Open an agent's own terminal client on a session of this machine's host."`
	Workspaces  workspacesCommand  `cmd:"" help:"Show and remove the directories that sessions work in."`
	MCP         mcpCommand         `cmd:"" name:"mcp" help:"Bridge an editor's agent to its notebook: MCP on stdin and stdout."`
	Policy      policyCommand      `cmd:"" help:"Check rules about agents' tool calls, and explain what they decide."`
	Conformance conformanceCommand `cmd:"" help:"Find out whether a program or a server keeps to the contract."`
	Users       usersCommand       `cmd:"" help:"Manage the people who may sign in."`
	Tokens      tokensCommand      `cmd:"" help:"Manage API tokens."`
	Hosts       hostsCommand       `cmd:"" help:"Manage the agent hosts the broker knows."`
	Keys        keysCommand        `cmd:"" help:"Make the keyset that seals secrets at rest."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database's schema up to date, or show where it stands."`
	Version     versionCommand     `cmd:"" help:"Print the version."`

	VerifyWorker verifyWorkerCommand `cmd:"" hidden:""`

	LogLevel  slog.Level `env:"BELLHOP_LOG_LEVEL" default:"info" help:"Least level to log: debug, info, warn or error."`
	LogFormat string     `env:"BELLHOP_LOG_FORMAT" enum:"text,json" default:"text" help:"Log as text or json lines, on stderr."`
}

// environment is what a command gets from its process, so that tests can give
// it another.
type environment struct {
	ctx     context.Context  // ends at SIGTERM, and at SIGINT unless the command reads signals
	signals <-chan os.Signal // SIGINT and SIGTERM
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	log     *slog.Logger
}

func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	os.Exit(run(context.Background(), signals, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run parses the command line and runs its command. Exit codes: 0 done, 1
// failed, 2 wrong usage.
func run(ctx context.Context, signals <-chan os.Signal, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var cli commands
	exited := -1
	parser, err := kong.New(&cli,
		kong.Name("bellhop"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }),
		kong.Resolvers(secretFiles{os.LookupEnv, os.ReadFile}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bellhop:", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "bellhop: %v\n%sSee: bellhop --help\n", err, missingVariables(err))
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !readsSignals(parsed.Selected().Target.Interface()) {
		go func() {
			defer cancel()
			select {
			case <-signals:
			case <-ctx.Done():
			}
		}()
	}
	env := &environment{ctx: ctx, signals: signals, stdin: stdin, stdout: stdout, stderr: stderr, log: newLogger(stderr, &cli)}
	if err := parsed.Run(env); err != nil && !errors.Is(err, context.Canceled) {
		report(stderr, err)
		return 1
	}
	return 0
}

// readsSignals tells whether a command does something else at SIGINT than end.
func readsSignals(command any) bool {
	switch command.(type) {
	case chatCommand, attachCommand:
		return true
	}
	return false
}

// missingVariables names the variables that keep a missing secret off the command
// line.
func missingVariables(err error) string {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context == nil {
		return ""
	}
	var hint strings.Builder
	for _, flag := range wrong.Context.Flags() {
		if flag.Required && !flag.Set && flag.Tag.Has("secret") {
			for _, name := range flag.Envs {
				_, _ = fmt.Fprintf(&hint, "   --%s can also be given as %s or %s_FILE.\n", flag.Name, name, name)
			}
		}
	}
	return hint.String()
}

func newLogger(w io.Writer, cli *commands) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cli.LogLevel}
	if cli.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
