package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fifo makes a FIFO named fifo in the directory.
func fifo(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitReady reads what a command writes into the FIFO.
func awaitReady(t *testing.T, path string) {
	t.Helper()
	if output, err := os.ReadFile(path); err != nil || string(output) != "ready\n" {
		t.Fatalf("the command printed %q, %v", output, err)
	}
}

// use runs a tool call as if it was permitted; failed reports an error.
func use(
	ctx context.Context, t *testing.T, dir string, call ToolCall, limit time.Duration,
) (content string, failed bool) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	do, err := newToolbox(root, limit).prepare(call)
	if err == nil {
		content, err = do.run(ctx)
	}
	if err != nil {
		return explain(err), true
	}
	return content, false
}

func TestTools(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	fifo(t, dir)
	absolute := filepath.Join(dir, "README.md")
	if err := os.WriteFile(filepath.Join(dir, "src", "odd\nname"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool   string
		args   map[string]string
		want   string
		failed bool
	}{
		"list a directory": {
			ToolListDir, map[string]string{"path": "src"}, "\"odd\\nname\" (0 bytes)\nmain.go (13 bytes)", false,
		},
		"list without a path": {
			ToolListDir, map[string]string{"path": "empty/."}, "The directory is empty.", false,
		},
		"list a file": {
			ToolListDir, map[string]string{"path": "README.md"}, "README.md is not a directory", true,
		},
		"list a FIFO does not block": {ToolListDir, map[string]string{"path": "fifo"}, "fifo is not a directory", true},
		"list nothing":               {ToolListDir, map[string]string{"path": "nowhere"}, "nowhere does not exist", true},
		"read a file": {
			ToolReadFile, map[string]string{"path": "src/../README.md"}, "# Lobby\n\nA small hotel.\n", false,
		},
		"read through a link inside": {
			ToolReadFile, map[string]string{"path": "inside"}, "# Lobby\n\nA small hotel.\n", false,
		},
		"read an absolute path inside": {
			ToolReadFile, map[string]string{"path": absolute}, "# Lobby\n\nA small hotel.\n", false,
		},
		"read a directory": {ToolReadFile, map[string]string{"path": "src"}, "src is not a regular file", true},
		"read a FIFO does not block": {
			ToolReadFile, map[string]string{"path": "fifo"}, "fifo is not a regular file", true,
		},
		"read a binary file": {
			ToolReadFile, map[string]string{"path": "binary"}, "binary is not a text file", true,
		},
		"read through a link loop": {
			ToolReadFile,
			map[string]string{"path": "loop"},
			"loop cannot be used: openat loop: too many levels of symbolic links", true,
		},
		"read below a file": {
			ToolReadFile, map[string]string{"path": "README.md/x"}, "README.md/x is not a directory", true,
		},
		"read out by ..": {
			ToolReadFile,
			map[string]string{"path": "src/../../outside.txt"},
			"src/../../outside.txt is outside the working directory. Only files inside it can be used", true,
		},
		"read out by a link": {
			ToolReadFile,
			map[string]string{"path": "way-out"},
			"way-out is outside the working directory. Only files inside it can be used", true,
		},
		"read out by a directory's link": {
			ToolReadFile,
			map[string]string{"path": "up/outside.txt"},
			"up/outside.txt is outside the working directory. Only files inside it can be used", true,
		},
		"read out absolutely": {
			ToolReadFile,
			map[string]string{"path": "/etc/passwd"},
			"/etc/passwd is outside the working directory. Only files inside it can be used", true,
		},
		"write into a FIFO": {
			ToolWriteFile, map[string]string{"path": "fifo", "content": "x"}, "fifo is not a regular file", true,
		},
		"write onto a directory": {
			ToolWriteFile, map[string]string{"path": "src", "content": "x"}, "src is not a regular file", true,
		},
		"write below a file": {
			ToolWriteFile, map[string]string{"path": "README.md/x", "content": "x"}, "README.md/x is not a directory", true,
		},
		"write out by a link": {
			ToolWriteFile,
			map[string]string{"path": "way-out", "content": "x"},
			"way-out is outside the working directory. Only files inside it can be used", true,
		},
		"write too much": {
			ToolWriteFile,
			map[string]string{"path": "big", "content": strings.Repeat("x", maxWrite+1)},
			"The content is over 8 MiB", true,
		},
		"run an empty command": {ToolRunCommand, map[string]string{"command": " "}, "The command is empty", true},
		"run without input":    {ToolRunCommand, map[string]string{"command": "cat; echo end"}, "end\n", false},
		"run with bad bytes": {
			ToolRunCommand, map[string]string{"command": `printf 'a\0b\377'`}, "a\uFFFDb\uFFFD\n", false,
		},
		"run to a signal": {
			ToolRunCommand, map[string]string{"command": "echo x; kill -9 $$"}, "x\n[signal: killed]", true,
		},
		"run and leave a child": {ToolRunCommand, map[string]string{"command": "sleep 1000 & echo left"}, "left\n", false},
		"an unknown tool":       {"delete_all", nil, `There is no tool "delete_all"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			content, failed := use(t.Context(), t, dir, ToolCall{Name: c.tool, Arguments: encode(c.args)}, time.Minute)
			if content != c.want || failed != c.failed {
				t.Errorf("got %q (failed %t), want %q", content, failed, c.want)
			}
		})
	}
	if secret, err := os.ReadFile(filepath.Join(dir, "..", "outside.txt")); string(secret) != "secret\n" {
		t.Errorf("outside: %q, %v", secret, err)
	}
}

func TestToolArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	for _, tool := range []string{ToolListDir, ToolReadFile, ToolWriteFile, ToolRunCommand} {
		for _, arguments := range []string{``, `[]`, `{"path":1,"command":1}`, `{"path":"a","path":"b"}`} {
			if content, failed := use(t.Context(), t, dir, ToolCall{Name: tool, Arguments: []byte(arguments)},
				time.Minute); !failed {
				t.Errorf("%s %s: %q", tool, arguments, content)
			}
		}
	}
}

func TestLongOutputIsCut(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	content, _ := use(t.Context(), t, dir,
		ToolCall{Name: ToolReadFile, Arguments: encode(map[string]string{"path": "long.txt"})}, time.Minute)
	if len(content) > maxFileBytes+100 || !strings.HasSuffix(content, "\n… cut after 256 KiB") {
		t.Errorf("a file of %d bytes ends in %q", len(content), content[len(content)-40:])
	}
	content, _ = use(t.Context(), t, dir, ToolCall{Name: ToolRunCommand, Arguments: encode(map[string]string{
		"command": "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo last",
	})}, time.Minute)
	if len(content) > 2*outputHalf+100 || !strings.HasPrefix(content, "first\nxxx") ||
		!strings.HasSuffix(content, "xxxlast\n") ||
		!strings.Contains(content, "\n… 4934475 bytes left out …\n") {
		t.Errorf("an output of %d bytes: %.20q", len(content), content)
	}
}

func TestCommandsGetNoneOfOurVariables(t *testing.T) {
	t.Setenv("SECRET_KEY", "canary")
	content, failed := use(t.Context(), t, workspace(t),
		ToolCall{Name: ToolRunCommand, Arguments: []byte(`{"command":"env"}`)}, time.Minute)
	if failed || strings.Contains(content, "canary") || !strings.Contains(content, "LANG=C.UTF-8\n") {
		t.Errorf("got %q", content)
	}
}

func TestACommandEndsAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	call := ToolCall{
		Name: ToolRunCommand, Arguments: []byte(`{"command":"trap '' INT TERM; echo begun; while :; do :; done & wait"}`),
	}
	content, failed := use(t.Context(), t, workspace(t), call, 300*time.Millisecond)
	if want := "begun\n[stopped after its time limit of 300ms]"; !failed || content != want {
		t.Errorf("got %q, want %q", content, want)
	}
}

func TestDestructiveCommandsAreCritical(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"ls -l": "WARN", "go test ./...": "WARN", "echo arm -x": "WARN", "grep sudoku x": "WARN",
		"rm -rf /": "CRITICAL", "ls; rm -r x": "CRITICAL", "sudo ls": "CRITICAL", "/bin/rm -f x": "CRITICAL",
		"dd if=a of=b": "CRITICAL", "cat x >/dev/sda": "CRITICAL", "true&&mkfs.ext4 x": "CRITICAL",
	} {
		if got := warningFor(command).Level; got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestTheModelGetsTheToolSpecs(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	names := []string{}
	for _, spec := range newToolbox(root, time.Minute).specs() {
		names = append(names, spec.Name+string(spec.Schema))
	}
	want := `edit_file{"properties":{"new_text":{"type":"string"},"old_text":{"type":"string"},"path":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old_text","new_text"],"type":"object"}
list_dir{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}
read_file{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}
run_command{"properties":{"command":{"type":"string"}},"required":["command"],"type":"object"}
search{"properties":{"glob":{"type":"string"},"path":{"type":"string"},"pattern":{"type":"string"}},"required":["pattern"],"type":"object"}
write_file{"properties":{"content":{"type":"string"},"path":{"type":"string"}},"required":["path","content"],"type":"object"}
ask_user{"properties":{"default":{"type":"string"},"question":{"type":"string"}},"required":["question"],"type":"object"}`
	if got := strings.Join(names, "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}
