package agent

import (
	"fmt"
	"strings"
	"unicode"

	"bellhop/protocol"
)

// Limits of the tool output that a reply repeats; the tool's own message has all of
// it.
const (
	reportLines = 20
	reportRunes = 2000
)

// report returns the demo model's text about a tool result.
func report(s step, prompt, r Message) string {
	switch {
	case r.Outcome == OutcomeDenied && s.verb == "ask":
		return "I got no answer to my question, so I go on without one."
	case r.Outcome == OutcomeDenied:
		return "I did not do that, because it was not allowed.\n\n> " + firstLine(r.Text)
	case r.Outcome == OutcomeError && s.verb == "run":
		return "The command did not succeed:\n\n" + excerpt(r.Text)
	case r.Outcome == OutcomeError:
		return "That did not work, I am afraid: " + firstLine(r.Text)
	}
	switch s.verb {
	case "list":
		return "This is what I found in the directory:\n\n" + excerpt(r.Text)
	case "read":
		return fmt.Sprintf("The file has %s and %s:\n\n", count(countLines(r.Text), "line"),
			count(len(r.Text), "byte")) + excerpt(r.Text)
	case "write":
		return "Done, the file is written. " + firstLine(r.Text)
	case "run":
		if strings.TrimSpace(r.Text) == "" {
			return "The command succeeded and printed nothing."
		}
		return "The command succeeded and printed:\n\n" + excerpt(r.Text)
	case "ask":
		return fmt.Sprintf("Thank you for your answer: %s", firstLine(r.Text))
	default:
		return overview(prompt, r.Text)
	}
}

// overview is the reply to a prompt that the demo model does not understand.
func overview(prompt Message, listing string) string {
	var text strings.Builder
	text.WriteString("I am the demo agent: a script, not a language model")
	if n := len(prompt.Attachments); n > 0 {
		fmt.Fprintf(&text, ", and I cannot see the %s you sent", count(n, attachmentWord(prompt.Attachments)))
	}
	if asked := strings.TrimSpace(prompt.Text); asked != "" {
		fmt.Fprintf(&text, ". I cannot reason about %s", code(asked))
	}
	text.WriteString(", but I can work in this directory. It holds:\n\n" + excerpt(listing))
	example := "write hello.txt: Hello"
	for line := range strings.Lines(listing) {
		if name, rest, ok := strings.Cut(line, " ("); ok && strings.Contains(rest, "byte") {
			example = "read " + name
			break
		}
	}
	fmt.Fprintf(&text, "\n\nTry `%s`, `run ls -l` or `help`.", example)
	return text.String()
}

// attachmentWord names what a prompt has: images, or attachments of several types.
func attachmentWord(list []protocol.Attachment) string {
	for _, a := range list {
		if a.Type != protocol.AttachmentImage {
			return "attachment"
		}
	}
	return "image"
}

// excerpt returns the beginning of a text as a code block.
func excerpt(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	lines, left := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n"), 0
	if len(lines) > reportLines {
		lines, left = lines[:reportLines], len(lines)-reportLines
	}
	shown := strings.TrimRight(strings.Join(lines, ""), "\n")
	if runes := []rune(shown); len(runes) > reportRunes {
		shown = string(runes[:reportRunes]) + "…"
	}
	shown = fence + "\n" + shown + "\n" + fence
	if left > 0 {
		shown += fmt.Sprintf("\n\n… and %s more.", count(left, "line"))
	}
	return shown
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > reportRunes {
		line = string(runes[:reportRunes]) + "…"
	}
	return line
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// Limits of the number of pieces of a text.
const (
	minPieces = 4
	maxPieces = 40
)

// split cuts a text into pieces of a few words. A text of at least minPieces characters has at
// least that many pieces.
func split(text string) []string {
	words := strings.FieldsFunc(text, unicode.IsSpace)
	runes := []rune(text)
	n := min(max(len(words)/3, minPieces), maxPieces, len(runes))
	pieces := make([]string, 0, n)
	for begin := 0; begin < len(runes); {
		end := len(runes)
		if left := n - len(pieces); left > 1 {
			most := len(runes) - left + 1 // leave one rune for each further piece
			end = min(begin+max(1, (len(runes)-begin)/left), most)
			for end < most && !unicode.IsSpace(runes[end-1]) {
				end++
			}
		}
		pieces = append(pieces, string(runes[begin:end]))
		begin = end
	}
	return pieces
}
