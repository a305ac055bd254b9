package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestTheManualHasEveryCommandAndFlag(t *testing.T) {
	code, page, stderr := runCommand(t, "manual")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	plain := strings.ReplaceAll(page, `\-`, "-")
	for _, want := range []string{
		".SS bellhop serve\n", ".SS bellhop hosts add", "--database-url=", "BELLHOP_HOST_PASSWORD", ".SH EXIT STATUS",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, hidden := range []string{"verify-worker", "bellhop torture", "bellhop manual", "--help"} {
		if strings.Contains(plain, ".SS "+hidden) || strings.Contains(plain, ".B "+hidden) {
			t.Errorf("the page shows %q", hidden)
		}
	}
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !knownRequest(line) {
			t.Errorf("line %d is no text and no request: %s", i+1, line)
		}
	}
}

func knownRequest(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	switch name {
	case ".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".RI", ".nf", ".fi":
		return true
	}
	return false
}

// The shell runs the program that it completes.
func TestBashCompletesCommandsAndFlags(t *testing.T) {
	dir := t.TempDir()
	binary, err := os.Executable()
	testenv.Must(t, err)
	testenv.Must(t, os.Symlink(binary, filepath.Join(dir, "bellhop")))
	_, code, _ := runCommand(t, "completion", "bash")
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "completion"), []byte(code), 0o600))
	for line, want := range map[string]string{
		"bellhop ser":                         "serve",
		"bellhop hosts up":                    "update",
		"bellhop doctor --st":                 "--streams",
		"bellhop torture --s":                 "",
		"bellhop migrate status --database-u": "--database-url",
	} {
		const script = `. ./completion && [[ $(complete -p bellhop) == *" -C "*bellhop ]] && exec bellhop`
		command := exec.Command("bash", "-c", script)
		command.Dir = dir
		command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"),
			"COMP_LINE="+line, "COMP_POINT="+strconv.Itoa(len(line)))
		out, err := command.Output()
		if got := strings.TrimSpace(string(out)); got != want || err != nil {
			t.Errorf("%q: %q, want %q, %v", line, got, want, err)
		}
	}
}

func TestCompletionRefusesAnUnknownShell(t *testing.T) {
	if code, _, stderr := runCommand(t, "completion", "tcsh"); code != 2 || !strings.Contains(stderr, "zsh") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestReadyIsTheAnswerOfReadyz(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/readyz" {
			t.Errorf("path %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"storage":"full"}`))
	}))
	defer server.Close()
	if code, out, stderr := runCommand(t, "ready", server.URL+"/base"); code != 0 || out != "ready\n" {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	status = http.StatusInsufficientStorage
	if code, _, stderr := runCommand(t, "ready", server.URL+"/base"); code != 1 || !strings.Contains(stderr, `"storage":"full"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, wrong := range []string{"127.0.0.1:7700", "file:///etc/passwd", "http://"} {
		if code, _, stderr := runCommand(t, "ready", wrong); code != 1 || !strings.Contains(stderr, "no URL such as") {
			t.Errorf("%s: exit %d: %s", wrong, code, stderr)
		}
	}
}

func TestAgentsAreRefusedWhereTheirProgramsCannotBeEnded(t *testing.T) {
	if err := runsAgents(false); err == nil || protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("%v", err)
	}
	if err := runsAgents(process.Supported); err != nil {
		t.Error(err)
	}
}
