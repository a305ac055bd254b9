package protocol

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// CommandList is the response to GET /session/:id/commands of an agent host, and to
// GET /api/tasks/:id/commands of a broker: the slash commands of a session's agent.
type CommandList struct {
	Commands []Command `json:"commands"`          // by name, at most MaxCommands
	Problem  string    `json:"problem,omitempty"` // why none are known
}

// Command is a slash command. An agent runs it when a message begins with "/" and its name.
type Command struct {
	Name        string `json:"name"` // without "/"
	Description string `json:"description,omitempty"`
	Arguments   string `json:"arguments,omitempty"` // what can follow the name, such as "[file]"
}

// Limits of a CommandList. A longer text is cut.
const (
	MaxCommands    = 300
	MaxCommandName = 128 // bytes; commands with longer names are left out
	MaxCommandText = 400 // bytes of a description, and of the arguments
)

// CleanCommands returns a list within the limits, sorted, with one command of each name. Commands whose name
// no message can begin with are left out.
func CleanCommands(list []Command) []Command {
	clean := []Command{}
	for _, c := range list {
		name := strings.TrimPrefix(SanitizeText(c.Name), "/")
		if name == "" || len(name) > MaxCommandName || strings.ContainsFunc(name, endsCommandName) {
			continue
		}
		clean = append(clean, Command{
			Name: name, Description: commandText(c.Description), Arguments: commandText(c.Arguments),
		})
	}
	slices.SortStableFunc(clean, func(a, b Command) int { return cmp.Compare(a.Name, b.Name) })
	clean = slices.CompactFunc(clean, func(a, b Command) bool { return a.Name == b.Name })
	return clean[:min(len(clean), MaxCommands)]
}

func endsCommandName(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// commandText returns a text on one line.
func commandText(text string) string {
	return CutText(strings.Join(strings.Fields(SanitizeText(text)), " "), MaxCommandText)
}

// CommandOf splits a message into the name of a slash command and what follows it; ok is false for other
// messages.
func CommandOf(message string) (name, arguments string, ok bool) {
	rest, ok := strings.CutPrefix(message, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(rest, endsCommandName)
	if end < 0 {
		end = len(rest)
	}
	return rest[:end], strings.TrimSpace(rest[end:]), end > 0
}
