package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bellhop/protocol"
)

// everydayFile holds harmless commands that agents run every day. Each line has the decisions of the built-in rules in
// the modes ask, accept-edits and auto, and the command; @@ stands for a line end. A line that begins with # says why the
// command after it is asked about.
const everydayFile = "testdata/everyday.txt"

// maxAsked is the number of commands that are asked about in auto. It grows only by rows with a reason.
const maxAsked = 64

func TestEverydayCommands(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(everydayFile)
	if err != nil {
		t.Fatal(err)
	}
	e := Default(Options{Home: "/home/u", Links: bypassLinks})
	var out strings.Builder
	rows, asked := 0, 0
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# ") {
			out.WriteString(line + "\n")
			continue
		}
		text := line
		if parts := strings.SplitN(line, " | ", 4); len(parts) == 4 && decided.MatchString(parts[0]) {
			text = parts[3]
		}
		rows++
		c := bash(strings.ReplaceAll(text, "@@", "\n"))
		got := ""
		for _, c.Mode = range []protocol.PermissionMode{protocol.ModeAsk, protocol.ModeAcceptEdits, protocol.ModeAuto} {
			d := e.Decide(c)
			got += fmt.Sprintf("%-16s | ", outcome(d))
			if c.Mode == protocol.ModeAuto && d.Action != Allow {
				asked++
			}
		}
		fmt.Fprintf(&out, "%s%s\n", got, text)
		if !*update && line != got+text {
			t.Errorf("%s\n  is   %s\n  want %s", text, got, strings.TrimSuffix(line, text))
		}
	}
	if *update {
		if err := os.WriteFile(everydayFile, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if rows < 300 || asked > maxAsked {
		t.Errorf("%d commands, %d of them asked about in auto, more than %d", rows, asked, maxAsked)
	}
}
