package protocol

import "slices"

// wordMembers are members of a tool call's arguments with text for people.
var wordMembers = []string{
	"title", "description", "reason", "explanation", "justification", "summary", "comment", "label", "message", "goal",
	"purpose", "intent", "thought", "note", "notes",
}

// WordMembers returns the names of the members of a tool call's arguments that are text for people. They say what the
// agent means, not what the tool does, so nothing may decide by them.
func WordMembers() []string { return slices.Clone(wordMembers) }

// IsWord reports whether a member of a tool call's arguments is text for people.
func IsWord(member string) bool { return slices.Contains(wordMembers, member) }
