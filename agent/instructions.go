package agent

import "strings"

// standingInstructions are the instructions for every language model.
const standingInstructions = `You are a coding agent without a screen: your text is shown to a user, your tools act in one working directory.
Look before you change: list, search and read files before you edit them. Prefer edit_file to write_file for files that exist.
Tools that change something ask the user first; when the user denies a call, do not repeat it: say what you would need it for, or find another way.
Paths are relative to the working directory; nothing outside it can be reached with the file tools.
When the task is done say in a few sentences what you did and what is left.`

// Instructions returns the system message for a language model that works in dir: the standing
// instructions, then the user's own.
func Instructions(dir, own string) string {
	text := standingInstructions + "\n\nWorking directory: " + dir
	if own = strings.TrimSpace(own); own != "" {
		text += "\n\n" + own
	}
	return text
}
