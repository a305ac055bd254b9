package claude

import (
	"slices"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// telemetryOff disables all traffic except to the model, and limits the retries of
// a failed request.
var telemetryOff = []string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"DISABLE_TELEMETRY=1",
	"DISABLE_ERROR_REPORTING=1",
	"DISABLE_AUTOUPDATER=1",
	"CLAUDE_CODE_MAX_RETRIES=2",
}

// awaitTools makes the first turn of a session wait for the host's tools. On a busy machine the program
// would begin it without them, after a few seconds.
var awaitTools = []string{
	"MCP_CONNECTION_NONBLOCKING=false",
	"MCP_CONNECT_TIMEOUT_MS=60000",
	"MCP_TIMEOUT=60000",
	"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=60000",
}

// stateEvents makes the program report when it is idle. No other message shows that
// no turn without a prompt follows.
const stateEvents = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"

// memory makes the program read the memory (CLAUDE.md, .claude/rules) of the
// directories in --add-dir.
const memory = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1"

func environment(options Options, spec agenthost.AgentSpec) []string {
	return stdio.Environment(stdio.Inherit("TERM"), []string{stateEvents}, sharedVariables(options, spec))
}

// sharedVariables returns the variables of both clients, the headless program and the terminal.
func sharedVariables(options Options, spec agenthost.AgentSpec) []string {
	return slices.Concat([]string{"HOME=" + spec.StateDir, memory}, telemetryOff, awaitTools, options.Env, spec.Env)
}

// schedulers are tools by which the program starts a turn at a later time. They are
// disallowed, because the output of such a turn would belong to no call of Run.
const schedulers = "ScheduleWakeup,CronCreate"

// arguments returns the arguments of the headless program. session is --resume or
// --session-id with its id.
func arguments(path string, session []string, spec agenthost.AgentSpec, mcp string) []string {
	args := []string{
		path, "-p",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", "default",
		"--disallowed-tools", schedulers,
	}
	return append(append(args, session...), common(spec, mcp)...)
}

// common returns the arguments of both clients. A repository is not trusted: its
// settings could allow tools without asking, and its hooks, servers and key helpers
// run by themselves. Ignoring its settings also excludes its memory, which is only
// text; --add-dir includes the memory again.
func common(spec agenthost.AgentSpec, mcp string) []string {
	args := []string{"--setting-sources", "user", "--add-dir=" + spec.Dir}
	if model := strings.TrimSpace(spec.Model); model != "" {
		args = append(args, "--model", model)
	}
	if mcp != "" {
		args = append(args, "--mcp-config", mcp)
	}
	return args
}
