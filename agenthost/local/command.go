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
	maxCommands  = 4 // that run at a time, on the whole host
	usualTime    = 2 * time.Minute
	maxSeconds   = 600
	maxOutput    = 32 << 10 // bytes, the last ones
	commandGrace = 2 * time.Second
)

// passedOn is what commands get of the host's environment.
var passedOn = []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"}

type commandInput struct {
	pathInput
	Command        string `json:"command" jsonschema:"name of a command that the operator has configured"`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty" jsonschema:"1 to 600; 120 when left out"`
}

type commandOutput struct {
	ExitCode  int    `json:"exitCode"`
	Output    string `json:"output"`
	Truncated bool   `json:"truncated,omitempty"` // the beginning is missing
	TimedOut  bool   `json:"timedOut,omitempty"`
}

// executeCommand runs until the command ends, its time is over, or the caller
// leaves; nothing of it stays behind.
func (s *Server) executeCommand(ctx context.Context, in *commandInput) (*commandOutput, error) {
	g, err := s.about(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	limit := usualTime
	if in.TimeoutSeconds != 0 {
		limit = time.Duration(in.TimeoutSeconds) * time.Second
	}
	if limit < 0 || limit > maxSeconds*time.Second {
		return nil, protocol.Errorf(protocol.CodeInvalid, "timeoutSeconds must be 1 to %d", maxSeconds)
	}
	args, known := s.Workspaces.Command(g.Path, in.Command)
	if !known {
		return nil, &protocol.Error{
			Code: protocol.CodeNotFound, Message: "No such command",
			Hint: "The operator names the commands of a project in the host's configuration",
		}
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "Too many commands run", Hint: "Wait for one to end"}
	}
	home, err := s.Host.Home(ctx, g)
	if err != nil {
		return nil, err
	}
	ctx, leave := s.whileThere(ctx)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.run(ctx, args, g.Path, append(environment(), "HOME="+home))
}

func environment() []string {
	var env []string
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (s *Server) run(ctx context.Context, args []string, dir string, env []string) (*commandOutput, error) {
	kept := &lastBytes{}
	child, err := process.Start(process.Command{Args: args, Dir: dir, Env: env, Output: kept, Records: s.Records})
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
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*commandGrace)
		defer cancel()
		if err := child.Stop(ending, commandGrace); err != nil {
			s.Log.ErrorContext(ctx, "a command cannot be stopped", "err", err)
		}
	}
	var exit *exec.ExitError
	if err := child.Wait(); errors.As(err, &exit) {
		out.ExitCode = exit.ExitCode()
	} else if err != nil {
		out.ExitCode = -1
	}
	out.Output, out.Truncated = kept.text()
	return out, nil
}

// lastBytes keeps the end of what is written.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if more := len(l.kept) - maxOutput; more > 0 {
		l.kept, l.cut = append(l.kept[:0], l.kept[more:]...), true
	}
	return len(p), nil
}

func (l *lastBytes) text() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return protocol.SanitizeText(strings.ToValidUTF8(string(l.kept), "\uFFFD")), l.cut
}
