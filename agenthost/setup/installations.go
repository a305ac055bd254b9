package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"bellhop/internal/replacefile"
	"bellhop/protocol"
)

// Installations installs programs in the background for administrators of brokers, and keeps the last
// installation of each program. Several programs are installed at the same time, each once.
type Installations struct {
	options InstallationsOptions
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	last map[string]*installation // by program
}

// InstallationsOptions configure Installations. Installer, File and Log are required.
type InstallationsOptions struct {
	Installer Installer // OnProgress and OnLine are replaced
	Allowed   bool      // the host's operator allows it; otherwise nothing is installed
	File      string    // keeps the last installations over a restart of the host

	// Ended is called after each installation, before its end is visible; nil = not called.
	Ended func()
	Now   func() time.Time
	Log   *slog.Logger
}

// installation is the last one of a program. Its mutable members are guarded by Installations.mu.
type installation struct {
	shown     protocol.Installation
	cancel    context.CancelFunc
	cancelled bool
}

// errStopped is why an installation ended that ran when its host stopped.
const (
	errStopped  = "the host stopped during the installation"
	hintStopped = "Nothing was installed. Install it again."
)

// OpenInstallations reads the last installations. Those that ran when the host stopped have failed. The caller
// must call Close.
func OpenInstallations(options InstallationsOptions) (*Installations, error) {
	i := &Installations{options: options, last: map[string]*installation{}}
	i.ctx, i.stop = context.WithCancel(context.Background())
	content, err := os.ReadFile(options.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var kept []protocol.Installation
	if err == nil && json.Unmarshal(content, &kept) != nil {
		options.Log.Warn("the file of the last installations is damaged; it is written again", "file", options.File)
	}
	for _, one := range kept {
		if one.State == protocol.InstallationRunning {
			ended := options.Now().UTC()
			one.State, one.EndedAt, one.Step = protocol.InstallationFailed, &ended, ""
			one.Error, one.Code, one.Hint = errStopped, protocol.CodeUnavailable, hintStopped
		}
		i.last[one.Program] = &installation{shown: one}
	}
	return i, nil
}

// Close ends the running installations and waits for them. The next OpenInstallations reports them.
func (i *Installations) Close() error {
	i.mu.Lock()
	i.stop()
	i.mu.Unlock()
	i.running.Wait()
	return nil
}

// Can reports whether Start installs the program on this host.
func (i *Installations) Can(program string) bool {
	agent, err := i.options.Installer.Cache.Agent(program)
	return err == nil && i.options.Allowed && i.options.Installer.Cache.isInstallable(agent)
}

// List returns the last installation of each program, by program.
func (i *Installations) List() *protocol.InstallationList {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &protocol.InstallationList{Allowed: i.options.Allowed, Installations: i.listLocked()}
}

func (i *Installations) listLocked() []protocol.Installation {
	list := []protocol.Installation{}
	for _, name := range slices.Sorted(maps.Keys(i.last)) {
		list = append(list, i.last[name].view())
	}
	return list
}

func (n *installation) view() protocol.Installation {
	shown := n.shown
	shown.Lines = append([]string{}, shown.Lines...)
	return shown
}

// Start begins to install a program, and returns at once. If the program is being installed, it returns that
// installation. CodeForbidden: the host does not allow it. CodeNotFound: unknown program. CodeUnavailable: the
// host stops.
func (i *Installations) Start(program string) (*protocol.Installation, error) {
	if err := i.checkAllowed(program); err != nil {
		return nil, err
	}
	agent, err := i.options.Installer.Cache.Agent(program)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx.Err() != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The host stops")
	}
	if before := i.last[program]; before != nil && before.shown.State == protocol.InstallationRunning {
		shown := before.view()
		return &shown, nil
	}
	started := &installation{shown: protocol.Installation{
		ID: protocol.NewID(), Program: agent.Name, Title: agent.Title, Version: agent.Version,
		State: protocol.InstallationRunning, StartedAt: i.options.Now().UTC(), Lines: []string{},
	}}
	before := i.last[program]
	i.last[program] = started
	if err := i.saveLocked(); err != nil { // an installation that a restart would forget is not started
		i.last[program] = before
		if before == nil {
			delete(i.last, program)
		}
		return nil, withDiskRemedy(program, err)
	}
	ctx, cancel := context.WithCancel(i.ctx)
	started.cancel = cancel
	i.running.Go(func() { i.run(ctx, started) })
	shown := started.view()
	return &shown, nil
}

func (i *Installations) checkAllowed(program string) error {
	if i.options.Allowed {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeForbidden, Message: "This host does not let administrators install programs",
		Hint: "Its operator installs it: bellhop agents install " + program +
			". BELLHOP_HOST_ALLOW_INSTALLS=true lets administrators do it.",
	}
}

// Cancel ends the installation of a program and returns at once; of an ended one it changes nothing.
// CodeForbidden: the host does not allow it. CodeNotFound: the program was never installed here.
func (i *Installations) Cancel(program string) (*protocol.Installation, error) {
	if err := i.checkAllowed(program); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	found := i.last[program]
	if found == nil {
		return nil, protocol.Errorf(protocol.CodeNotFound, "%q was never installed from a broker", program)
	}
	if found.shown.State == protocol.InstallationRunning {
		found.cancelled = true
		found.cancel()
	}
	shown := found.view()
	return &shown, nil
}

// run installs the program, and stores how that ended unless the host stops.
func (i *Installations) run(ctx context.Context, n *installation) {
	defer n.cancel()
	installer := i.options.Installer
	installer.OnProgress = func(p Progress) { i.note(n, p) }
	installer.OnLine = func(line string) { i.addLine(n, line) }
	_, fresh, err := installer.Install(ctx, n.shown.Program)
	if i.ctx.Err() != nil {
		return // the file says that it ran
	}
	if i.options.Ended != nil {
		i.options.Ended()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	n.end(fresh, err, i.options.Now().UTC())
	i.options.Log.Info("an installation ended", "program", n.shown.Program, "version", n.shown.Version,
		"state", string(n.shown.State), "err", err)
	if err := i.saveLocked(); err != nil {
		i.options.Log.Warn("the end of an installation was not stored", "program", n.shown.Program, "err", err)
	}
}

// end sets how the installation ended.
func (n *installation) end(fresh bool, err error, at time.Time) {
	n.shown.EndedAt, n.shown.Step = &at, ""
	switch {
	case err == nil && fresh:
		n.shown.State = protocol.InstallationInstalled
	case err == nil:
		n.shown.State = protocol.InstallationPresent
	case n.cancelled:
		n.shown.State = protocol.InstallationCancelled
	default:
		n.shown.State = protocol.InstallationFailed
		var e *protocol.Error
		if !errors.As(err, &e) {
			e = &protocol.Error{Code: protocol.CodeInternal, Message: err.Error(), Hint: "Nothing was installed."}
		}
		n.shown.Error, n.shown.Code, n.shown.Hint = plain(e.Message), e.Code, plain(e.Hint)
		if e.Err != nil {
			n.addLine(e.Err.Error())
		}
	}
}

// note takes the progress of an installation. A new step is a line.
func (i *Installations) note(n *installation, p Progress) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n.shown.Done, n.shown.Total = p.Done, p.Total
	if n.shown.Step != p.Step {
		n.shown.Step = p.Step
		n.addLine(stepLine(p.Step, n.shown))
	}
}

func stepLine(step Step, n protocol.Installation) string {
	switch step {
	case StepWait:
		return "Waits for another process that installs it"
	case StepDownload:
		return fmt.Sprintf("Downloads %s %s", n.Title, n.Version)
	case StepUnpack:
		return "The checksum is right. Unpacks it"
	case StepNPM:
		return "Runs npm ci without scripts"
	case StepCheck:
		return "Starts it once to read its version"
	}
	return string(step)
}

func (i *Installations) addLine(n *installation, line string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n.addLine(line)
}

func (n *installation) addLine(line string) {
	n.shown.Lines = append(n.shown.Lines, plain(line))
	n.shown.Lines = n.shown.Lines[max(0, len(n.shown.Lines)-protocol.MaxInstallationLines):]
}

// plain returns a text in one line, without control characters and of a bounded length.
func plain(text string) string {
	text = strings.Map(func(char rune) rune {
		if unicode.IsControl(char) {
			return ' '
		}
		return char
	}, text)
	if len(text) > protocol.MaxInstallationText {
		text = strings.ToValidUTF8(text[:protocol.MaxInstallationText-len("…")], "") + "…"
	}
	return text
}

func (i *Installations) saveLocked() error {
	content, err := json.Marshal(i.listLocked())
	if err != nil {
		return err
	}
	return replacefile.Write(i.options.File, content, 0o600)
}
