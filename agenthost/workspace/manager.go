package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/protocol"
)

// Project is what sessions may ask for by name: a directory of this machine
// (Path) or a repository to clone (Clone), one of the two.
type Project struct {
	Path   string
	Clone  string // address; never logged, it may hold a password
	Branch string // sessions begin there; "" = the project's current HEAD

	// InPlace lets sessions work in the project's own directory although it is
	// a git repository.
	InPlace bool

	// Commands are what agents may have run by name, as argument lists.
	Commands map[string][]string
}

// Options of a Manager. Data is required.
type Options struct {
	Data     string // directory of everything that is kept
	Projects map[string]Project

	Git      string        // program; "" = git on PATH
	Patience time.Duration // how long Dir waits for a workspace being made; 0 = 8 s

	Now func() time.Time // nil = time.Now
	Log *slog.Logger     // nil = none
}

// Manager makes, finds and removes workspaces. Several on one data directory,
// in other processes too, do not disturb each other.
type Manager struct {
	data     string
	projects map[string]Project
	patience time.Duration
	now      func() time.Time
	log      *slog.Logger
	git      runner
	locks    locks
	slots    chan struct{} // of diffs and snapshots, which are heavy
	newFiles int           // most files, and bytes of them, that git does not track yet
	newBytes int64
	disk     diskUse

	// Work that outlives the request it began in; Close ends it.
	ctx  context.Context
	stop context.CancelFunc
	mu   sync.Mutex
	jobs map[string]*job
	wg   sync.WaitGroup
}

// New checks the projects. It creates nothing: the first Dir does. Without git
// on this machine there are only plain directories, and no diffs.
func New(opts Options) (*Manager, error) {
	root, err := filepath.Abs(opts.Data)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	m := &Manager{
		data: root, projects: make(map[string]Project, len(opts.Projects)),
		patience: opts.Patience, now: opts.Now, log: opts.Log,
		slots: make(chan struct{}, 2), newFiles: maxNewFiles, newBytes: maxNewBytes, jobs: map[string]*job{},
	}
	if m.patience <= 0 {
		m.patience = 8 * time.Second
	}
	if m.now == nil {
		m.now = time.Now
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	for name, p := range opts.Projects {
		if err := m.configure(name, p); err != nil {
			return nil, err
		}
	}
	if m.git.program, err = exec.LookPath(orElse(opts.Git, "git")); err != nil {
		m.git.program = ""
		m.log.Warn("git is missing: sessions get plain directories, and no diffs")
	}
	m.git.env = inheritedEnvironment()
	m.locks.dir = filepath.Join(m.data, "workspaces", ".records")
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m, nil
}

func (m *Manager) configure(name string, p Project) (err error) {
	switch {
	case p.Path != "" && p.Clone != "":
		return protocol.Errorf(protocol.CodeInvalid, "project %s: path or clone, not both", name)
	case p.Clone != "":
		if !plainName(name) {
			return protocol.Errorf(protocol.CodeInvalid, "project %q is cloned into a directory of its name: use A-Z a-z 0-9 . _ -", name)
		}
		p.Path = filepath.Join(m.data, "projects", name)
	default:
		if p.Path, err = filepath.Abs(p.Path); err != nil {
			return fmt.Errorf("project %s: %w", name, err)
		}
	}
	for command, args := range p.Commands {
		if len(args) == 0 || args[0] == "" {
			return protocol.Errorf(protocol.CodeInvalid, "project %s: command %s is empty", name, command)
		}
	}
	m.projects[name] = p
	return nil
}

// Close ends what still runs in the background.
func (m *Manager) Close() error {
	m.stop()
	m.mu.Lock()   // nothing begins after this
	m.mu.Unlock() //nolint:staticcheck // an empty section: whoever saw ctx open has added itself
	m.wg.Wait()
	return nil
}

// project returns a configured project.
func (m *Manager) project(name string) (Project, error) {
	p, ok := m.projects[name]
	if ok {
		return p, nil
	}
	hint := "This host has no projects; leave the project out."
	if len(m.projects) > 0 {
		hint = "This host knows: " + strings.Join(slices.Sorted(maps.Keys(m.projects)), ", ") + "."
	}
	return Project{}, &protocol.Error{
		Code:    protocol.CodeInvalid,
		Message: fmt.Sprintf("Unknown project %q", name),
		Hint:    hint,
	}
}

// Command is the named command of the project that path is a workspace of.
func (m *Manager) Command(path, name string) ([]string, bool) {
	rec, err := m.find(path)
	if err != nil {
		return nil, false
	}
	args, ok := m.projects[rec.Project].Commands[name]
	return slices.Clone(args), ok
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// job is work on one workspace that several callers may wait for.
type job struct {
	done chan struct{}
	dir  string
	err  error
}

const jobLimit = 15 * time.Minute

// once runs f in the background, unless a job of that key runs already, and
// waits for its end, patience, or ctx: a clone takes longer than a request may.
func (m *Manager) once(ctx context.Context, key string, f func(context.Context) (string, error)) (string, error) {
	m.mu.Lock()
	j := m.jobs[key]
	if j == nil {
		if m.ctx.Err() != nil {
			m.mu.Unlock()
			return "", errClosed()
		}
		j = &job{done: make(chan struct{})}
		m.jobs[key] = j
		m.wg.Go(func() {
			work, cancel := context.WithTimeout(m.ctx, jobLimit)
			defer cancel()
			j.dir, j.err = f(work)
			m.mu.Lock()
			delete(m.jobs, key)
			m.mu.Unlock()
			close(j.done)
		})
	}
	m.mu.Unlock()
	timer := time.NewTimer(m.patience)
	defer timer.Stop()
	select {
	case <-j.done:
		return j.dir, j.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
		return "", &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The workspace is still being prepared",
			Hint: "A first clone or checkout takes its time. Try again in a moment.", RetryAfter: 5,
		}
	}
}

func errClosed() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
}

var errNoGit = &protocol.Error{
	Code: protocol.CodeConflict, Message: "git is not installed on the agent host",
	Hint: "Install git there and restart the host",
}

// noGit reports whether err says that git is missing.
func noGit(err error) bool { return errors.Is(err, errNoGit) }
