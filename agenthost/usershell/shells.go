package usershell

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/internal/process"
	"bellhop/protocol"
)

// Defaults of Options.
const (
	defaultPerSession = 4
	defaultIdle       = 30 * time.Minute
	away              = 10 * time.Minute // that a shell goes on without a screen
	maxShells         = 64               // of a host
)

// Options configure the shells of a host.
type Options struct {
	Command    []string      // program and arguments of a shell; empty = bash as a login shell, or sh without bash
	PerSession int           // most shells of a session; 0 = 4
	Idle       time.Duration // after which a shell ends in which nothing is typed; 0 = 30 minutes
	Records    string        // directory of process.Sweep
	Self       string        // path of this binary, which programs in the sandbox can run; "" = it is found

	Now func() time.Time // nil = time.Now
	Log *slog.Logger
}

// Shells are the shells of a host.
type Shells struct {
	options Options

	mu      sync.Mutex
	byID    map[string]*Shell
	closed  bool
	running sync.WaitGroup
}

// New returns no shells yet. It fails if this binary's path is not known.
func New(options Options) (*Shells, error) {
	if options.Self == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("the path of this binary: %w", err)
		}
		options.Self = self
	}
	options.PerSession = cmp.Or(options.PerSession, defaultPerSession)
	options.Idle = cmp.Or(options.Idle, defaultIdle)
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if len(options.Command) == 0 {
		options.Command = loginShell()
	}
	return &Shells{options: options, byID: map[string]*Shell{}}, nil
}

func loginShell() []string {
	for _, bash := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(bash); err == nil {
			return []string{bash, "-l"}
		}
	}
	return []string{"/bin/sh", "-l"}
}

// Place is where a shell runs.
type Place struct {
	Session, Dir, Home string
	Confine            func(process.Command) (process.Command, error) // nil = unconfined
}

// Open starts a shell. CodeTooManyRequests: the session or the host has as many as it may have.
func (s *Shells) Open(at Place, size Size) (*Shell, error) {
	if err := size.Check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkRoom(at.Session); err != nil {
		return nil, err
	}
	args := append([]string{
		s.options.Self, helperCommand, strconv.Itoa(int(size.Columns)), strconv.Itoa(int(size.Rows)),
	}, s.options.Command...)
	child, err := process.Start(process.Command{
		Args: args, Dir: at.Dir, Env: environment(at), Confine: at.Confine, Records: s.options.Records,
	})
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The shell cannot be started", Err: fmt.Errorf("%w: %w", errNotStarted, err),
			Hint: "The operator of the host has to look at its log and at terminal.shell in its configuration",
		}
	}
	shell := newShell(at.Session, child, s.options.Now)
	s.byID[shell.ID] = shell
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		shell.run()
		s.remove(shell)
		shell.finish()
	}()
	return shell, nil
}

// checkRoom is called with the lock held.
func (s *Shells) checkRoom(session string) error {
	if s.closed {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
	}
	own := 0
	for _, shell := range s.byID {
		if shell.Session == session {
			own++
		}
	}
	if own < s.options.PerSession && len(s.byID) < maxShells {
		return nil
	}
	return &protocol.Error{
		Code:    protocol.CodeTooManyRequests,
		Message: fmt.Sprintf("The session has %d terminals, the host %d", own, len(s.byID)),
		Hint:    "Close one, or wait until idle ones end", RetryAfter: 10,
	}
}

// environment has no variable of the host but these: the host's environment holds secrets.
func environment(at Place) []string {
	env := []string{"HOME=" + at.Home, "TERM=xterm-256color", "COLORTERM=truecolor", "SHLVL=0"}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if !slices.ContainsFunc(env, isLocale) {
		env = append(env, "LANG=C.UTF-8") // otherwise shells take ASCII alone
	}
	return env
}

func isLocale(variable string) bool {
	return strings.HasPrefix(variable, "LANG=") || strings.HasPrefix(variable, "LC_ALL=")
}

// Find returns a shell of a session. CodeGone: it has ended.
func (s *Shells) Find(session, id string) (*Shell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shell := s.byID[id]; shell != nil && shell.Session == session {
		return shell, nil
	}
	return nil, errGone()
}

func errGone() error {
	return &protocol.Error{Code: protocol.CodeGone, Message: "The terminal has ended", Hint: "Open another one"}
}

func (s *Shells) remove(shell *Shell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, shell.ID)
}

// End ends the shells for which which is true.
func (s *Shells) End(cause error, which func(*Shell) bool) {
	s.mu.Lock()
	var ending []*Shell
	for _, shell := range s.byID {
		if which(shell) {
			ending = append(ending, shell)
		}
	}
	s.mu.Unlock()
	var ended sync.WaitGroup
	for _, shell := range ending {
		ended.Go(func() { shell.end(cause) })
	}
	ended.Wait()
}

// EndSession ends the shells of a session.
func (s *Shells) EndSession(id string) {
	s.End(ErrSession, func(shell *Shell) bool { return shell.Session == id })
}

// Run ends shells that are idle or away for too long, and all when ctx ends.
func (s *Shells) Run(ctx context.Context) error {
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.mu.Lock()
			s.closed = true
			s.mu.Unlock()
			s.End(ErrSession, func(*Shell) bool { return true })
			s.running.Wait()
			return nil
		case <-tick.C:
			s.EndIdle()
		}
	}
}

// EndIdle ends the shells that are idle or away for too long.
func (s *Shells) EndIdle() {
	now := s.options.Now()
	s.End(ErrIdle, func(shell *Shell) bool {
		shell.mu.Lock()
		defer shell.mu.Unlock()
		unused := now.Sub(shell.active)
		return unused >= s.options.Idle || shell.screen == nil && unused >= away
	})
}
