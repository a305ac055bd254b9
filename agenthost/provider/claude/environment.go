package claude

import (
	"os"
	"slices"
	"strings"

	"bellhop/agenthost"
)

// inherited is what a program needs to run at all. Everything else, the host's
// own secrets above all, stays out of its environment.
var inherited = []string{"PATH", "LANG", "LC_ALL", "TZ", "TERM", "TMPDIR"}

// quiet keeps the program from any traffic but that to its model, and from
// trying for minutes what fails for good.
var quiet = []string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"DISABLE_TELEMETRY=1",
	"DISABLE_ERROR_REPORTING=1",
	"DISABLE_AUTOUPDATER=1",
	"CLAUDE_CODE_MAX_RETRIES=2",
}

// stateEvents makes the program say when it is idle: the one sign that no turn
// without a prompt follows.
const stateEvents = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"

// memory makes the program read the memory (CLAUDE.md, .claude/rules) of the
// directories it is given by --add-dir.
const memory = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1"

// environment of a session's program; of two values the later one counts.
func environment(options Options, spec agenthost.AgentSpec) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(append(env, stateEvents), own(options, spec)...)
}

// own is the part of the environment that the terminal client needs too.
func own(options Options, spec agenthost.AgentSpec) []string {
	return slices.Concat([]string{"HOME=" + spec.StateDir, memory}, quiet, options.Env, spec.Env)
}

// lookup returns the value that counts.
func lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// alarms are tools by which the program begins a turn at some later time, when
// no Run is there to show it.
const alarms = "ScheduleWakeup,CronCreate"

// arguments of the headless program. Session is --resume or --session-id with
// its id.
func arguments(path string, session []string, spec agenthost.AgentSpec, mcp string) []string {
	args := []string{
		path, "-p",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", "default",
		"--disallowed-tools", alarms,
	}
	return append(append(args, session...), common(spec, mcp)...)
}

// common are the arguments of both clients. A repository is not trusted: its
// settings would allow tools that nobody was asked about, and its hooks, servers
// and key helpers run by themselves. Without them goes its memory, which is only
// text; as a directory that was added the workspace brings that back.
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
