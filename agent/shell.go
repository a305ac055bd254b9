package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"bellhop/internal/lazyregexp"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// outputHalf bounds a command's output: the first and the last half are kept.
const outputHalf = 32 << 10

// runCommand runs shell commands in the working directory. Unlike the file tools a command is
// not confined to it; the question to the user covers that.
type runCommand struct {
	dir   string
	limit time.Duration
}

func (*runCommand) spec() ToolSpec {
	return ToolSpec{
		ToolRunCommand, "Run a shell command in the working directory. Returns its output; the user is asked first.",
		schema("command"),
	}
}

func (t *runCommand) prepare(raw json.RawMessage) (*action, error) {
	var a struct {
		Command string `json:"command"`
	}
	if err := protocol.Decode(raw, &a); err != nil {
		return nil, err
	}
	if strings.TrimSpace(a.Command) == "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "The command is empty")
	}
	return &action{
		prompt:  "Run this command? " + a.Command,
		warning: warningFor(a.Command),
		run:     func(ctx context.Context) (string, error) { return t.run(ctx, a.Command) },
	}, nil
}

// destructive matches dangerous commands. It only raises the level of a question that is asked
// anyway; it permits nothing.
var destructive = lazyregexp.New(`(?:^|[\s;&|(/])(?:rm\s+-|sudo\b|su\b|dd\s|mkfs|shutdown\b|reboot\b|chmod\s+-R|chown\s+-R)|>\s*/dev/`)

func warningFor(command string) *protocol.SecurityWarning {
	if destructive.MatchString(command) {
		return &protocol.SecurityWarning{
			Level: "CRITICAL", Message: "May destroy files or change the system, also outside the working directory.",
		}
	}
	return &protocol.SecurityWarning{
		Level: "WARN", Message: "Runs with your rights and is not confined to the working directory.",
	}
}

// environment returns the usual variables and none of ours, which may be secret.
func (t *runCommand) environment() []string {
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	return []string{"PATH=" + path, "HOME=" + t.dir, "PWD=" + t.dir, "LANG=C.UTF-8", "TERM=dumb"}
}

func (t *runCommand) run(ctx context.Context, command string) (string, error) {
	out := &output{}
	p, err := process.Start(process.Command{
		Args: []string{"/bin/sh", "-c", command}, Dir: t.dir, Env: t.environment(), Output: out,
	})
	if err != nil {
		return "", protocol.Errorf(protocol.CodeInternal, "The command could not be started: %v", err)
	}
	limit := time.NewTimer(t.limit)
	defer limit.Stop()
	var ending string
	select {
	case <-p.Done():
		ending = exitStatus(p.Wait())
	case <-limit.C:
		ending = fmt.Sprintf("stopped after its time limit of %s", t.limit)
	case <-ctx.Done():
		ending = "interrupted"
	}
	if err := p.Kill(); err != nil {
		return "", protocol.Errorf(protocol.CodeInternal, "The command could not be stopped: %v", err)
	}
	if ending != "" {
		return "", protocol.Errorf(protocol.CodeInvalid, "%s[%s]", out, ending)
	}
	return out.String(), nil
}

// exitStatus returns "" for success.
func exitStatus(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return ""
	case errors.As(err, &exit):
		return exit.Error()
	default:
		return err.Error()
	}
}

// output keeps the first and the last part of its input.
type output struct {
	mu         sync.Mutex
	head, rest []byte
	dropped    int
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := min(len(p), outputHalf-len(o.head))
	o.head = append(o.head, p[:first]...)
	o.rest = append(o.rest, p[first:]...)
	if over := len(o.rest) - outputHalf; over > 0 {
		o.dropped += over
		o.rest = append(o.rest[:0], o.rest[over:]...)
	}
	return len(p), nil
}

// String returns text that is empty or ends with a newline.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := string(o.head) + string(o.rest)
	if o.dropped > 0 {
		text = fmt.Sprintf("%s\n… %d bytes left out …\n%s", o.head, o.dropped, o.rest)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return protocol.SanitizeText(text)
}
