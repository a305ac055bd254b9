package policy

import (
	"slices"
	"strings"
)

// Common tool names. An unmapped tool is "other:" followed by its own name; tools
// of MCP servers are "mcp:server/tool".
const (
	FileRead   = "file:read"
	FileWrite  = "file:write"
	FileDelete = "file:delete"
	ShellRun   = "shell:run"
	ShellRead  = "shell:output" // reads the output of a background command, or ends the command
	NetFetch   = "net:fetch"
	NetSearch  = "net:search"
	NetConnect = "net:connect"
	AgentPlan  = "agent:plan" // the agent's own notes
	AgentTask  = "agent:task" // another agent or a skill starts work
	AgentMode  = "agent:mode" // the agent asks for permission to work with fewer questions
	UserAsk    = "user:ask"
)

var commonNames = []string{
	FileRead, FileWrite, FileDelete, ShellRun, ShellRead, NetFetch, NetSearch, NetConnect, AgentPlan, AgentTask,
	AgentMode, UserAsk,
}

// CommonTools returns the common names, without those of unmapped and MCP tools.
func CommonTools() []string { return slices.Clone(commonNames) }

// commonBit returns a separate bit for each common name, and 0 for others.
func commonBit(tool string) uint32 {
	if i := slices.Index(commonNames, tool); i >= 0 {
		return 1 << i
	}
	return 0
}

func commonMask(patterns []string) uint32 {
	var mask uint32
	for i, tools := 0, newGlobs(patterns); i < len(commonNames); i++ {
		if tools.match(commonNames[i]) {
			mask |= 1 << i
		}
	}
	return mask
}

// common maps the names that have the same meaning for every agent; docs/policy.md
// shows the table.
var common = table(map[string]string{
	FileRead: "Read read read_file read_many_files ReadFile view view_file open_file list list_dir list_directory " +
		"list_files LS ls Glob glob find_files Grep grep grep_files search search_files search_file_content file_search " +
		"ReadNotebook NotebookRead view_image",
	FileWrite: "Write write write_file WriteFile create_file Edit edit edit_file EditFile MultiEdit multi_edit " +
		"multiedit NotebookEdit apply_patch patch replace str_replace insert fileChange file_change move move_file " +
		"mkdir create_directory",
	FileDelete: "delete delete_file remove_file",
	ShellRun: "Bash bash shell sh run_command run_shell_command run_terminal_command exec exec_command execute " +
		"execute_command commandExecution command_execution local_shell local_shell_call shell_command unified_exec " +
		"container.exec terminal write_stdin shell:execute",
	ShellRead: "BashOutput TaskOutput KillShell KillBash TaskStop",
	NetFetch:  "WebFetch webfetch web_fetch fetch fetch_url http_get",
	NetSearch: "WebSearch websearch web_search google_web_search codesearch",
	AgentPlan: "TodoWrite TodoRead todowrite todoread todo_write update_plan think TaskCreate TaskGet TaskList TaskUpdate",
	AgentTask: "Task task Agent agent Skill skill spawn_agent SlashCommand",
	AgentMode: "ExitPlanMode EnterPlanMode exit_plan_mode plan_exit plan_enter switch_mode",
	UserAsk:   "ask_user AskUserQuestion question request_user_input",
})

func table(rows map[string]string) map[string]string {
	out := map[string]string{}
	for name, aliases := range rows {
		for alias := range strings.FieldsSeq(aliases) {
			out[alias] = name
		}
	}
	return out
}

// CommonTool returns the common name of an agent's tool. The agent's own names of
// Options.ToolNames take precedence over the names that all agents share.
func (e *Engine) CommonTool(agent, tool string) string {
	if name, ok := e.toolNames[agent][tool]; ok {
		return name
	}
	if name, ok := common[tool]; ok {
		return name
	}
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, name, _ := strings.Cut(rest, "__")
		return "mcp:" + server + "/" + name
	}
	return familyName(tool)
}

// aliased returns patterns for tools with the common name in place of an alias that looks like one, such as
// shell:execute.
func aliased(patterns []string) []string {
	out := slices.Clone(patterns)
	for i, p := range out {
		if name, ok := common[p]; ok && strings.Contains(p, ":") {
			out[i] = name
		}
	}
	return out
}

// familyName returns the common name of a tool that the table does not contain. A
// name of a family counts as the family's strictest tool.
func familyName(tool string) string {
	family, _, _ := strings.Cut(tool, ":")
	switch {
	case slices.Contains(commonNames, tool), family == "mcp" && tool != "mcp":
		return tool
	case tool == family:
	case family == "shell":
		return ShellRun
	case family == "file":
		return FileDelete
	case family == "net":
		return NetConnect
	case family == "agent":
		return AgentMode
	}
	return "other:" + tool
}

// isUnknownTool reports whether nothing is known about a tool's arguments.
func isUnknownTool(tool string) bool {
	return strings.HasPrefix(tool, "other:") || strings.HasPrefix(tool, "mcp:")
}
