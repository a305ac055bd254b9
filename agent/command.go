package agent

import (
	"fmt"
	"strconv"
	"strings"

	"bellhop/internal/lazyregexp"
)

// Command is a command of the demo model, for --help.
type Command struct {
	Usage string
	Help  string
}

// Commands lists the commands of the demo model. Several commands, one per line or joined by "
// then ", run in order.
func Commands() []Command {
	list := make([]Command, 0, len(grammar))
	for _, rule := range grammar {
		list = append(list, rule.Command)
	}
	return list
}

// step is one parsed command of a prompt.
type step struct {
	verb string
	args []string // matches of the pattern's groups
}

// maxSlow bounds "slow N" to one hour.
const maxSlow = 36000

// other is the verb of text that no rule matches.
const other = ""

// grammar is in the order of the help. A command begins with its verb; the text of write, run
// and ask continues up to the next command.
var grammar = []struct {
	Command
	verb    string
	pattern *lazyregexp.Regexp
}{
	{Command{"list [PATH]", "list a directory (list_dir)"}, "list", lazyregexp.New(`^(?i:list)(?:\s+(\S+))?$`)},
	{Command{"read PATH", "show a text file (read_file)"}, "read", lazyregexp.New(`^(?i:read)\s+(.+)$`)},
	{
		Command{"write PATH: TEXT", "write a file after asking for permission (write_file)"},
		"write",
		lazyregexp.New(`^(?i:write)\s+([^:\n]+):[ \t]?\n?((?s:.*))$`),
	},
	{
		Command{"run COMMAND", "run a shell command after asking for permission (run_command)"},
		"run",
		lazyregexp.New(`^(?i:run)\s+((?s:.+))$`),
	},
	{Command{"ask QUESTION", "ask you something and use the answer"}, "ask", lazyregexp.New(`^(?i:ask)\s+((?s:.+))$`)},
	{
		Command{"slow N", fmt.Sprintf("answer in N pieces (1 to %d), 100 ms apart", maxSlow)},
		"slow",
		lazyregexp.New(`^(?i:slow)\s+(\d{1,9})$`),
	},
	{Command{"fail", "end the turn with an error"}, "fail", lazyregexp.New(`^(?i:fail)$`)},
	{Command{"help", "explain all this"}, "help", lazyregexp.New(`^(?i:help)$`)},
}

// joints separate commands.
var joints = lazyregexp.New(`\n| then `)

// parse splits a prompt into at least one step. A piece after a joint that is no command
// belongs to the text before it, if that command takes text: so texts may have several lines.
func parse(prompt string) []step {
	prompt = strings.TrimSpace(strings.ReplaceAll(prompt, "\r\n", "\n"))
	ends := append(joints.FindAllStringIndex(prompt, -1), []int{len(prompt), len(prompt)})
	var steps []step
	begin, end := 0, ends[0][0] // of the current command
	verb := match(prompt[:end]).verb
	for i, joint := range ends[1:] {
		piece := prompt[ends[i][1]:joint[0]]
		next := match(piece).verb
		if next != other || !takesText(verb) && strings.TrimSpace(piece) != "" {
			steps = append(steps, match(prompt[begin:end]))
			begin, verb = ends[i][1], next
		}
		end = joint[0]
	}
	return append(steps, match(prompt[begin:end]))
}

func takesText(verb string) bool {
	return verb == "write" || verb == "run" || verb == "ask" || verb == other
}

func match(text string) step {
	text = strings.TrimSpace(text)
	for _, rule := range grammar {
		if groups := rule.pattern.FindStringSubmatch(text); groups != nil {
			return step{rule.verb, groups[1:]}
		}
	}
	return step{other, []string{text}}
}

// pieces returns the N of "slow N"; false if it is out of range.
func (s step) pieces() (int, bool) {
	n, err := strconv.Atoi(s.args[0])
	return n, err == nil && n >= 1 && n <= maxSlow
}

// withDefault matches a question with a default answer in brackets at its end.
var withDefault = lazyregexp.New(`^((?s:.+?))\s+\[([^\]]+)\]$`)

func askArguments(text string) map[string]string {
	if groups := withDefault.FindStringSubmatch(text); groups != nil {
		return map[string]string{"question": groups[1], "default": groups[2]}
	}
	return map[string]string{"question": text}
}

// call returns the tool call of a step, nil if it needs none.
func (s step) call() *ToolCall {
	use := func(tool string, arguments map[string]string) *ToolCall {
		return &ToolCall{Name: tool, Arguments: encode(arguments)}
	}
	switch s.verb {
	case "list":
		if s.args[0] == "" {
			return use(ToolListDir, map[string]string{"path": "."})
		}
		return use(ToolListDir, map[string]string{"path": s.args[0]})
	case "read":
		return use(ToolReadFile, map[string]string{"path": s.args[0]})
	case "write":
		return use(ToolWriteFile, map[string]string{"path": strings.TrimSpace(s.args[0]), "content": s.args[1]})
	case "run":
		return use(ToolRunCommand, map[string]string{"command": s.args[0]})
	case "ask":
		return use(ToolAskUser, askArguments(s.args[0]))
	case other:
		return use(ToolListDir, map[string]string{"path": "."})
	default:
		return nil
	}
}
