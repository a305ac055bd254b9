package workspace

import (
	"cmp"
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
	"sync/atomic"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// Project is a directory of this machine (Path) or a repository to clone (Clone)
// that sessions may name. Exactly one of the two is set.
type Project struct {
	Path   string
	Clone  string // URL; never logged, because it may hold a password
	Branch string // where new clones start; "" = the project's current HEAD

	// InPlace lets sessions work in the project's own directory although it is
	// a git repository.
	InPlace bool

	// Commands maps names to argument lists that agents may run by name.
	Commands map[string][]string
}

// Options of a Manager. Data is required.
type Options struct {
	Data     string // directory for all workspaces, clones, states and records
	Projects map[string]Project

	Git      string        // path of the git program; "" = git on PATH
	Forges   Forges        // nil = none
	Patience time.Duration // how long Dir waits until a workspace is ready; 0 = 8 s

	Now func() time.Time // nil = time.Now
	Log *slog.Logger     // nil = none
}

// Manager creates, finds and removes workspaces. Several managers, also in other
// processes, can share one data directory.
type Manager struct {
	data          string
	projects      map[string]Project
	patience      time.Duration
	now           func() time.Time
	log           *slog.Logger
	git           runner
	locks         locks                                         // one per session, or per record of a workspace without a session
	mirrorLocks   locks                                         // one per record; acquired after one of the field locks
	repoLocks     locks                                         // one per project or git directory; acquired after the other two
	slots         *slots                                        // of work that reads whole work trees
	users         atomic.Pointer[func(sessionID string) string] // nil = no session has a known user
	limits        treereader.Limits
	readerProgram string  // "" = this program
	confine       Confine // nil = readers have the host's rights
	pushTimeout   time.Duration
	diffTime      time.Duration
	searchTime    time.Duration // after which a search returns what it has found
	fileSlots     chan struct{} // limits concurrent reads of directories and files
	forges        Forges
	disk          diskUse
	giving        sync.Mutex // held while owners change
	listings      listings

	// Background jobs outlive the request that started them; Close ends them.
	ctx  context.Context
	stop context.CancelFunc
	mu   sync.Mutex
	jobs map[string]*job
	wg   sync.WaitGroup
}

// New checks the projects and creates no directory. Without git on this machine,
// sessions get plain directories and no diffs.
func New(opts Options) (*Manager, error) {
	root, err := filepath.Abs(opts.Data)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{
		data: root, projects: make(map[string]Project, len(opts.Projects)),
		patience: cmp.Or(max(opts.Patience, 0), 8*time.Second), now: opts.Now, log: opts.Log,
		locks:       locks{dir: filepath.Join(root, "workspaces", ".records")},
		repoLocks:   locks{dir: filepath.Join(root, "workspaces", ".records"), prefix: "repository-"},
		mirrorLocks: locks{dir: filepath.Join(root, "workspaces", ".records"), prefix: "mirror-"},
		git:         runner{env: inheritedEnvironment()},
		slots:       newSlots(time.Now), limits: defaultLimits, pushTimeout: pushTimeout, forges: opts.Forges,
		diffTime: diffTimeout, searchTime: searchTime, fileSlots: make(chan struct{}, 4),
		jobs: map[string]*job{},
	}
	for name, p := range opts.Projects {
		if err := m.addProject(name, p); err != nil {
			return nil, err
		}
	}
	if m.git.program, err = exec.LookPath(cmp.Or(opts.Git, "git")); err != nil {
		m.git.program = ""
		m.log.Warn("git is missing: sessions get plain directories, and no diffs")
	}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m, nil
}

func (m *Manager) addProject(name string, p Project) (err error) {
	switch {
	case p.Path != "" && p.Clone != "":
		return protocol.Errorf(protocol.CodeInvalid, "project %s: path or clone, not both", name)
	case p.Clone != "":
		if !plainName(name) {
			return protocol.Errorf(protocol.CodeInvalid,
				"project %q is cloned into a directory of its name: use A-Z a-z 0-9 . _ -", name)
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

// Close cancels the background jobs and waits for them.
func (m *Manager) Close() error {
	m.stop()
	m.mu.Lock()
	m.mu.Unlock() //nolint:staticcheck // waits for a caller that saw ctx open and has not yet called wg.Go
	m.wg.Wait()
	return nil
}

// project returns CodeInvalid for a name that is not configured.
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

// Command returns the named command of the project whose workspace contains path.
func (m *Manager) Command(path, name string) ([]string, bool) {
	rec, err := m.findByPath(path)
	if err != nil {
		return nil, false
	}
	args, ok := m.projects[rec.Project].Commands[name]
	return slices.Clone(args), ok
}

// Commands returns the names of the commands of the project whose workspace contains path, sorted.
func (m *Manager) Commands(path string) []string {
	rec, err := m.findByPath(path)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m.projects[rec.Project].Commands))
}

// job prepares one workspace in the background; several callers may wait for it.
type job struct {
	done chan struct{}
	dir  string
	err  error
}

const jobTimeout = 15 * time.Minute

// runOnce runs f in the background, or joins the job that already runs for key.
// It waits at most m.patience, because a clone can outlast a request, and then
// returns CodeUnavailable while the job continues.
func (m *Manager) runOnce(ctx context.Context, key string, f func(context.Context) (string, error)) (string, error) {
	running, err := m.joinJob(key, f)
	if err != nil {
		return "", err
	}
	timer := time.NewTimer(m.patience)
	defer timer.Stop()
	select {
	case <-running.done:
		return running.dir, running.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
		return "", &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The workspace is still being prepared",
			Hint: "A first clone or checkout takes its time. Try again in a moment.", RetryAfter: 5,
		}
	}
}

// joinJob returns the job that runs for key, or starts one.
func (m *Manager) joinJob(key string, f func(context.Context) (string, error)) (*job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if running := m.jobs[key]; running != nil {
		return running, nil
	}
	if m.ctx.Err() != nil {
		return nil, errClosed()
	}
	started := &job{done: make(chan struct{})}
	m.jobs[key] = started
	m.wg.Go(func() {
		ctx, cancel := context.WithTimeout(m.ctx, jobTimeout)
		defer cancel()
		started.dir, started.err = f(ctx)
		m.mu.Lock()
		delete(m.jobs, key)
		m.mu.Unlock()
		close(started.done)
	})
	return started, nil
}

func errClosed() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
}

var errNoGit = &protocol.Error{
	Code: protocol.CodeConflict, Message: "git is not installed on the agent host",
	Hint: "Install git there and restart the host",
}

func isGitMissing(err error) bool { return errors.Is(err, errNoGit) }
