package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"bellhop/internal/process"
	"bellhop/protocol"
)

const (
	maxCommands    = 4 // running commands on the whole host
	defaultTimeout = 2 * time.Minute
	maxSeconds     = 600
	maxOutput      = 32 << 10 // bytes; only the end of the output is returned
	commandGrace   = 2 * time.Second
)

// inheritedVariables are the only variables of the host that commands get.
var inheritedVariables = []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"}

type commandInput struct {
	pathInput
	Command        string `json:"command" jsonschema:"name of a command that the operator has configured"`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty" jsonschema:"1 to 600; 120 when left out"`
}

type commandOutput struct {
	ExitCode  int    `json:"exitCode"`
	Output    string `json:"output"`
	Truncated bool   `json:"truncated,omitempty"` // the beginning of the output is missing
	TimedOut  bool   `json:"timedOut,omitempty"`
}

// executeCommand runs a named command. It stops the command and its child processes at
// the time limit and when the caller disconnects.
func (s *Server) executeCommand(ctx context.Context, in *commandInput) (*commandOutput, error) {
	g, err := s.grantFor(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	timeout, err := in.timeout()
	if err != nil {
		return nil, err
	}
	args, known := s.Workspaces.Command(g.Path, in.Command)
	if !known {
		return nil, &protocol.Error{
			Code: protocol.CodeNotFound, Message: "No such command",
			Hint: "The operator names the commands of a project in the host's configuration",
		}
	}
	select {
	case s.commandSlots <- struct{}{}:
		defer func() { <-s.commandSlots }()
	default:
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "Too many commands run", Hint: "Wait for one to end",
		}
	}
	home, err := s.Host.Home(ctx, g)
	if err != nil {
		return nil, err
	}
	ctx, release := s.untilCallerLeaves(ctx)
	defer release()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.runCommand(ctx, process.Command{
		Args: args, Dir: g.Path, Env: append(inheritedEnvironment(), "HOME="+home), Records: s.Records,
		Confine: func(c process.Command) (process.Command, error) { return s.Host.Confine(g, home, c) },
	})
}

func (in *commandInput) timeout() (time.Duration, error) {
	timeout := defaultTimeout
	if in.TimeoutSeconds != 0 {
		timeout = time.Duration(in.TimeoutSeconds) * time.Second
	}
	if timeout < 0 || timeout > maxSeconds*time.Second {
		return 0, protocol.Errorf(protocol.CodeInvalid, "timeoutSeconds must be 1 to %d", maxSeconds)
	}
	return timeout, nil
}

func inheritedEnvironment() []string {
	var env []string
	for _, name := range inheritedVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (s *Server) runCommand(ctx context.Context, command process.Command) (*commandOutput, error) {
	output := &tailBuffer{}
	command.Output = output
	child, err := process.Start(command)
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The command cannot be started",
			Hint: "The operator has to look at the host's configuration", Err: err,
		}
	}
	out := &commandOutput{}
	select {
	case <-child.Done():
	case <-ctx.Done():
		out.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*commandGrace)
		defer cancel()
		if err := child.Stop(stopCtx, commandGrace); err != nil {
			s.Log.ErrorContext(ctx, "cannot stop a command", "err", err)
		}
	}
	out.ExitCode = exitCode(child.Wait())
	out.Output, out.Truncated = output.text()
	return out, nil
}

// exitCode returns -1 if the command did not exit by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		return -1
	}
}

// tailBuffer keeps the last maxOutput bytes that are written to it.
type tailBuffer struct {
	mu        sync.Mutex
	tail      []byte
	truncated bool
}

func (l *tailBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if more := len(l.tail) - maxOutput; more > 0 {
		l.tail, l.truncated = append(l.tail[:0], l.tail[more:]...), true
	}
	return len(p), nil
}

func (l *tailBuffer) text() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return protocol.SanitizeText(strings.ToValidUTF8(string(l.tail), "\uFFFD")), l.truncated
}
