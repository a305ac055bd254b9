package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

func call(tool string, arguments map[string]any) ToolCall {
	return ToolCall{Name: tool, Arguments: encode(arguments)}
}

func TestEditFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arguments map[string]any
		want      string
		content   string // of README.md afterwards; "" = unchanged
	}{
		"one place": {
			map[string]any{"path": "README.md", "old_text": "small", "new_text": "grand"},
			"Changed 1 place in README.md.",
			"# Lobby\n\nA grand hotel.\n",
		},
		"over lines": {
			map[string]any{"path": "./README.md", "old_text": "\n\nA", "new_text": " a"},
			"Changed 1 place in README.md.",
			"# Lobby a small hotel.\n",
		},
		"deleting text": {
			map[string]any{"path": "README.md", "old_text": " small", "new_text": ""},
			"Changed 1 place in README.md.",
			"# Lobby\n\nA hotel.\n",
		},
		"all places": {
			map[string]any{"path": "README.md", "old_text": "o", "new_text": "0", "replace_all": true},
			"Changed 2 places in README.md.", "# L0bby\n\nA small h0tel.\n",
		},
		"two places": {
			map[string]any{"path": "README.md", "old_text": "o", "new_text": "0"},
			"old_text is 2 times in README.md. Take more of the text around it, or set replace_all", "",
		},
		"no place": {
			map[string]any{"path": "README.md", "old_text": "large", "new_text": "x"},
			"old_text is not in README.md. Read the file again and copy the text exactly", "",
		},
		"nothing to replace": {
			map[string]any{"path": "README.md", "old_text": "", "new_text": "x"},
			"old_text must not be empty, and not be new_text", "",
		},
		"no change": {
			map[string]any{"path": "README.md", "old_text": "A", "new_text": "A"},
			"old_text must not be empty, and not be new_text", "",
		},
		"no file": {
			map[string]any{"path": "gone", "old_text": "A", "new_text": "B"}, "gone does not exist", "",
		},
		"a directory": {
			map[string]any{"path": "src", "old_text": "A", "new_text": "B"}, "src is not a regular file", "",
		},
		"no text": {map[string]any{"path": "binary", "old_text": "\xff", "new_text": "B"}, "", ""},
		"outside": {
			map[string]any{"path": "../outside.txt", "old_text": "secret", "new_text": "B"},
			"../outside.txt is outside the working directory. Only files inside it can be used", "",
		},
		"outside by a link": {
			map[string]any{"path": "way-out", "old_text": "secret", "new_text": "B"},
			"way-out is outside the working directory. Only files inside it can be used", "",
		},
		"inside by a link": {
			map[string]any{"path": "inside", "old_text": "small", "new_text": "grand"},
			"Changed 1 place in inside.",
			"# Lobby\n\nA grand hotel.\n",
		},
		"the result is too big": {
			map[string]any{"path": "README.md", "old_text": "small", "new_text": strings.Repeat("x", maxWrite)},
			"The content would be over 8 MiB", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t)
			got, _ := use(t.Context(), t, dir, call(ToolEditFile, c.arguments), time.Minute)
			if c.want != "" && got != c.want {
				t.Errorf("got %q", got)
			}
			want := c.content
			if want == "" {
				want = "# Lobby\n\nA small hotel.\n"
			}
			if content, err := os.ReadFile(filepath.Join(dir, "README.md")); string(content) != want {
				t.Errorf("the file holds %q, %v", content, err)
			}
		})
	}
}

func TestAnEditIsRefusedWhenTheFileChangedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	model := &played{
		completions: [][]any{
			{call(ToolEditFile, map[string]any{"path": "README.md", "old_text": "small", "new_text": "grand"})}, {"done"},
		},
	}
	a := serve(t, Options{Dir: dir, Completer: model})
	a.input("go")
	question := a.until(protocol.LineConfirm)
	if question.Prompt != "Change 1 place in README.md?" || question.SecurityWarning.Level != "WARN" {
		t.Errorf("asked %+v", question)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	a.send(`{"type":"confirmation","request_id":"id-2","value":true}`)
	if line := a.until(protocol.LineToolMessage); !line.IsError {
		t.Errorf("got %+v", line)
	}
	a.waiting(protocol.WaitingDone)
	a.ends()
}

func TestSearch(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	for path, content := range map[string]string{
		"src/many.txt": strings.Repeat("needle\n", 300), ".git/config": "hotel", "node_modules/x/y.js": "hotel",
		"src/wide.txt": "hotel " + strings.Repeat("w", 1000), "odd\nname": "hotel in an odd place",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fifo(t, dir)
	for name, c := range map[string]struct {
		arguments map[string]any
		want      string
	}{
		"a word in all files": {
			map[string]any{"pattern": "hotel"},
			"README.md:3: A small hotel.\n\"odd\\nname\":1: hotel in an odd place\nsrc/wide.txt:1: hotel " + strings.Repeat("w",
				maxMatchLine-6) + "…",
		},
		"an expression":     {map[string]any{"pattern": `^pack\w+ main$`}, "src/main.go:1: package main"},
		"by name":           {map[string]any{"pattern": "hotel", "glob": "*.md"}, "README.md:3: A small hotel."},
		"in a directory":    {map[string]any{"pattern": "main", "path": "src"}, "src/main.go:1: package main"},
		"in a file":         {map[string]any{"pattern": "main", "path": "src/main.go"}, "src/main.go:1: package main"},
		"nothing":           {map[string]any{"pattern": "zzz"}, "Nothing matches."},
		"not through links": {map[string]any{"pattern": "secret"}, "Nothing matches."},
		"outside": {
			map[string]any{"pattern": "x", "path": ".."},
			".. is outside the working directory. Only files inside it can be used",
		},
		"outside by a link": {
			map[string]any{"pattern": "x", "path": "up"},
			"up is outside the working directory. Only files inside it can be used",
		},
		"no such directory": {map[string]any{"pattern": "x", "path": "gone"}, "gone does not exist"},
		"no expression":     {map[string]any{"pattern": "("}, "The pattern is no regular expression. The syntax is RE2"},
		"no pattern":        {map[string]any{"path": "."}, "The pattern is no regular expression. The syntax is RE2"},
		"a broken glob":     {map[string]any{"pattern": "x", "glob": "["}, "The glob is no pattern of file names"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := use(t.Context(), t, dir, call(ToolSearch, c.arguments), time.Minute); got != c.want {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
	got, _ := use(t.Context(), t, dir, call(ToolSearch, map[string]any{"pattern": "needle"}), time.Minute)
	if lines := strings.Split(got, "\n"); len(lines) != maxMatches+1 ||
		lines[maxMatches] != "… and more: the first 200 matches are shown" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, failed := use(ctx, t, dir, call(ToolSearch, map[string]any{"pattern": "x"}), time.Minute); !failed ||
		got != context.Canceled.Error() {
		t.Errorf("interrupted: %q", got)
	}
}

func TestExternalTools(t *testing.T) {
	t.Parallel()
	outcome := func(content string, err error) Tool {
		return Tool{
			Spec: ToolSpec{Name: "mcp__x__y", Schema: schema()}, Prompt: "Use y?",
			Warning: protocol.SecurityWarning{Level: "WARN", Message: "foreign"},
			Run: func(ctx context.Context, _ json.RawMessage) (string, error) {
				if content == "hang" {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return content, err
			},
		}
	}
	for name, c := range map[string]struct {
		tool   Tool
		want   string
		failed bool
	}{
		"its text":  {outcome("fine", nil), "fine", false},
		"its error": {outcome("", errors.New("broken")), "broken", true},
		"more than is let in": {
			outcome(strings.Repeat("ü", maxExternal), nil), strings.Repeat("ü", maxExternal/2) + "\n… 262144 bytes left out",
			false,
		},
		"text that is no UTF-8": {outcome("a\xffb", nil), "a\uFFFDb", false},
		"longer than its time":  {outcome("hang", nil), "mcp__x__y was stopped after its time limit of 10ms", true},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			do, err := newToolbox(root, 10*time.Millisecond,
				c.tool).prepare(ToolCall{Name: "mcp__x__y", Arguments: []byte("{}")})
			if err != nil {
				t.Fatal(err)
			}
			got, err := do.run(t.Context())
			if err != nil {
				got = explain(err)
			}
			if got != c.want || (err != nil) != c.failed || do.warning.Message != "foreign" || do.prompt != "Use y?" {
				t.Errorf("got %.80q, %v", got, err)
			}
		})
	}
}

func TestAnExternalToolCannotReplaceABuiltInOne(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	model := &played{completions: [][]any{{list(".")}, {"done"}}}
	a := serve(t, Options{Dir: dir, Completer: model, Tools: []Tool{{Spec: ToolSpec{Name: ToolListDir}}}})
	a.input("go")
	if line := a.until(protocol.LineToolMessage); line.IsError || !strings.Contains(*line.Content, "README.md") {
		t.Errorf("got %+v", line)
	}
	a.waiting(protocol.WaitingDone)
	a.ends()
}
