// Command bellhop is the broker, the agent host, the headless agent, the
// terminal client and the administration of Bellhop in one binary: one file
// per subcommand, each turning flags and environment into a configuration of
// internal/app.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"bellhop/agent"
	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/internal/private"
	"bellhop/internal/requestid"
)

// version is set by the linker.
var version = "dev"

const description = `Bellhop connects users with remote coding agents. The broker signs users in and stores the agents' events,
browsers stream directly from the agent host, and no event is lost or stored twice.

Start with "bellhop dev": it runs broker, agent host and a demo agent on this machine without any configuration.`

// commandLine is the command line. Protocol section 5 lists the names and
// variables that are part of the contract.
type commandLine struct {
	Dev         devCommand         `cmd:"" help:"Run broker, agent host and demo agent on this machine, on an embedded database."`
	Serve       serveCommand       `cmd:"" help:"Run the broker."`
	Host        hostCommand        `cmd:"" help:"Run an agent host next to the code."`
	Agents      agentsCommand      `cmd:"" help:"Manage the programs of real agents: ${agents}."`
	Tasks       tasksCommand       `cmd:"" help:"Write a task as a document."`
	Templates   templatesCommand   `cmd:"" help:"List templates of tasks, and start a task from one."`
	Projects    projectsCommand    `cmd:"" help:"Show the projects that the hosts of a broker offer, with their branches."`
	Agent       agentCommand       `cmd:"" help:"Run the headless agent: JSON lines on stdin and stdout."`
	Chat        chatCommand        `cmd:"" help:"Chat with an agent in the terminal."`
	Attach      attachCommand      `cmd:"" help:"Open an agent's own terminal client on a session of this machine's host."`
	Sessions    sessionsCommand    `cmd:"" help:"Release sessions whose broker lost its key."`
	Workspaces  workspacesCommand  `cmd:"" help:"Show and remove the directories that sessions work in."`
	Replay      replayCommand      `cmd:"" help:"Show step by step what happened in a recording of a host."`
	MCP         mcpCommand         `cmd:"" name:"mcp" help:"Bridge an editor's agent to its notebook: MCP on stdin and stdout."`
	Policy      policyCommand      `cmd:"" help:"Check rules about agents' tool calls, and explain what they decide."`
	Conformance conformanceCommand `cmd:"" help:"Check whether a program or a server follows the protocol."`
	Users       usersCommand       `cmd:"" help:"Manage users."`
	Tokens      tokensCommand      `cmd:"" help:"Manage API tokens."`
	ForgeTokens forgeTokensCommand `cmd:"" name:"forge-tokens" help:"Manage users' own tokens for forges."`
	Hosts       hostsCommand       `cmd:"" help:"Manage the agent hosts of the broker."`
	Webhooks    webhooksCommand    `cmd:"" help:"List users' webhooks, and replace their secrets."`
	Audit       auditCommand       `cmd:"" help:"Export the audit log."`
	Announce    announceCommand    `cmd:"" help:"Announce something to all users, or take it back."`
	Export      exportCommand      `cmd:"" help:"Write tasks and notebooks to a file."`
	Import      importCommand      `cmd:"" help:"Read a file of 'bellhop export' into this installation."`
	Keys        keysCommand        `cmd:"" help:"Create the keyset that seals secrets in the database."`
	Adopt       adoptCommand       `cmd:"" help:"Make tasks for sessions that a restored database does not know."`
	Reconcile   reconcileCommand   `cmd:"" help:"Have hosts send again what the database lacks."`
	Verify      verifyCommand      `cmd:"" help:"Compare the journals of hosts with the database."`
	Doctor      doctorCommand      `cmd:"" help:"Check database, broker and hosts, and say what to do."`
	Migrate     migrateCommand     `cmd:"" help:"Migrate the database, or show its migrations."`
	Bench       benchCommand       `cmd:"" help:"Measure broker and host on this machine, beside references (Linux)."`
	Ready       readyCommand       `cmd:"" help:"Ask a broker or an agent host whether it is ready."`
	Completion  completionCommand  `cmd:"" help:"Print code that lets a shell complete commands."`
	Licenses    licensesCommand    `cmd:"" help:"Print the licence, and the notices of the software that the binary contains."`
	SBOM        sbomCommand        `cmd:"" name:"sbom" help:"Print the software bill of materials of the binary (CycloneDX)."`
	Version     versionCommand     `cmd:"" help:"Print the version."`

	Manual       manualCommand       `cmd:"" hidden:"" help:"Print the manual page."`
	VerifyWorker verifyWorkerCommand `cmd:"" name:"verify-worker" hidden:""`
	Torture      tortureCommand      `cmd:"" hidden:"" help:"Prove that no event is lost and none stored twice."`

	Log logFlags `embed:""`

	files secretFiles
}

// logFlags are flags of every command.
type logFlags struct {
	LogLevel  slog.Level `env:"BELLHOP_LOG_LEVEL" default:"info" help:"Minimum log level: debug, info, warn or error."`
	LogFormat string     `env:"BELLHOP_LOG_FORMAT" enum:"text,json" default:"text" help:"Log as text or json lines, on stderr."`
}

// environment holds the process resources of a command; tests replace them.
type environment struct {
	ctx     context.Context  // ends at SIGTERM, and at SIGINT unless the command reads signals
	signals <-chan os.Signal // SIGINT and SIGTERM
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	log     *slog.Logger
	keyset  private.Exposure // of the keyset's file
}

func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	os.Exit(run(context.Background(), signals, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitDenied is the exit code of "agent --task" if something in the task was denied.
const exitDenied = 3

// exitUncompared is the exit code of "verify" if nothing differs and not everything could be compared.
const exitUncompared = 4

// run parses the command line and runs its command. Exit codes: 0 success, 1
// failure, 2 wrong usage, 3 a task that was denied something.
func run(ctx context.Context, signals <-chan os.Signal, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if command := unparsed(args); command != nil {
		env := &environment{ctx: ctx, signals: signals, stdin: stdin, stdout: stdout, stderr: stderr}
		return exitCodeOf(command.Run(env), stderr)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	var cli commandLine
	completes := os.Getenv("COMP_LINE") != "" // a shell asks to complete a command line
	name := args[0]
	if completes {
		name = ""
	}
	exitCode := -1
	parser, err := newParser(&cli, name, stdout, stderr, func(code int) { exitCode = code })
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bellhop:", err)
		return 2
	}
	if completes {
		if kongcompletion.Register(parser); exitCode >= 0 {
			return exitCode
		}
	}
	parsed, err := parser.Parse(args)
	if exitCode >= 0 {
		return exitCode
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "bellhop: %v\n%sSee: bellhop --help\n", err, missingSecretsHint(err))
		return 2
	}
	if err := cli.files.readFlags(parsed, stdin); err != nil {
		_, _ = fmt.Fprintln(stderr, "bellhop:", err)
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !handlesSignals(parsed.Selected().Target.Interface()) {
		go func() {
			defer cancel()
			select {
			case <-signals:
			case <-ctx.Done():
			}
		}()
	}
	env := &environment{
		ctx: ctx, signals: signals, stdin: stdin, stdout: stdout, stderr: stderr, log: newLogger(stderr, cli.Log),
		keyset: cli.files.keyset,
	}
	return exitCodeOf(parsed.Run(env), stderr)
}

// unparsed returns the command of a command line that has no flags and must be fast, or nil. The parser of all
// commands costs more than these do: installers and monitoring ask for the version, and a broker starts workers.
func unparsed(args []string) interface{ Run(env *environment) error } {
	if len(args) != 1 {
		return nil
	}
	switch args[0] {
	case "version":
		return versionCommand{}
	case verifyWorkerName:
		return verifyWorkerCommand{}
	}
	return nil
}

// newParser returns a parser that fills in cli. Where name is a command's, it knows no other: the texts of all commands
// cost more time than most commands take. The manual shows all.
func newParser(cli *commandLine, name string, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	grammar, options := any(cli), []kong.Option{
		kong.Name("bellhop"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(stdout, stderr), kong.Exit(exit),
		kong.Resolvers(&cli.files),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	}
	command := cli.command(name)
	if command == nil || slices.Contains(commandsWithVars, name) {
		options = append(options, helpVars())
	}
	if command != nil && name != manualName {
		grammar, options = &cli.Log, append(options, command)
	}
	return kong.New(grammar, options...)
}

// command returns the command of this name, or nil.
func (c *commandLine) command(name string) kong.Option {
	all := reflect.ValueOf(c).Elem()
	for i := range all.NumField() {
		field := all.Type().Field(i)
		if _, ok := field.Tag.Lookup("cmd"); !ok || name != cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) {
			continue
		}
		return kong.DynamicCommand(name, field.Tag.Get("help"), "", all.Field(i).Addr().Interface(), string(field.Tag))
	}
	return nil
}

// exitCodeOf prints the error of a command, and returns the exit code.
func exitCodeOf(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	printError(stderr, err)
	switch {
	case errors.Is(err, agent.ErrDenied):
		return exitDenied
	case errors.Is(err, errUncompared):
		return exitUncompared
	}
	return 1
}

// commandsWithVars are the commands whose texts have helpVars, or that show such texts. For each flag of a command kong
// looks for others in the value of each of them.
var commandsWithVars = []string{"agents", "bench", "dev", "torture", manualName}

// helpVars are the values of ${agents}, ${programs} and others in help texts.
func helpVars() kong.Vars {
	own := kong.Vars{"agents": strings.Join(agents.BuiltIn(), ", "), "programs": setup.Names(agents.Programs())}
	return own.CloneWith(tortureVars()).CloneWith(benchVars())
}

// handlesSignals reports whether a command reads signals itself. Other commands end
// at SIGINT.
func handlesSignals(command any) bool {
	switch command.(type) {
	case chatCommand, attachCommand:
		return true
	}
	return false
}

// missingSecretsHint names the variables of missing secrets.
func missingSecretsHint(err error) string {
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

func newLogger(w io.Writer, flags logFlags) *slog.Logger {
	opts := &slog.HandlerOptions{Level: flags.LogLevel}
	if flags.LogFormat == "json" {
		return slog.New(requestid.LogHandler(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(requestid.LogHandler(slog.NewTextHandler(w, opts)))
}
