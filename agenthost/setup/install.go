package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/protocol"
)

// Installer brings agent programs into a cache. Cache is required.
type Installer struct {
	Cache *Cache

	// Registry says where the npm registry is; see NPMRegistry.
	Registry func(ctx context.Context) (string, error)

	Client *http.Client  // nil = one with time limits
	NPM    string        // the program; "" = npm
	Stall  time.Duration // longest silence of the registry; 0 = a minute

	// OnProgress hears how far an install is, many times a second.
	OnProgress func(Progress)
}

// Step of an install.
type Step string

// Steps, in their order; an agent has StepNPM or the two before it.
const (
	StepDownload Step = "download"
	StepUnpack   Step = "unpack"
	StepNPM      Step = "npm"
	StepCheck    Step = "check"
)

// Progress is how far an install is. Total is 0 when the registry does not say.
type Progress struct {
	Agent       string
	Step        Step
	Done, Total int64 // bytes, while downloading
}

// Install fetches the pinned version of an agent, verifies it and moves it into
// the cache in one step: it is there whole or not at all. What is there already
// is left alone (fresh is false). Several installs of one agent wait for each
// other. CodeNotFound: unknown agent; CodeInvalid: not for this platform,
// registry not configured, or the Node.js it needs is missing; CodeUnavailable:
// the registry failed or sent something else than what is pinned.
func (i *Installer) Install(ctx context.Context, name string) (program Program, fresh bool, err error) {
	agent, err := i.Cache.Agent(name)
	if err != nil {
		return Program{}, false, err
	}
	if !i.Cache.offered(agent) {
		return Program{}, false, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("%s %s is not pinned for this platform (%s)", agent.Title, agent.Version, i.Cache.platform.key(agent.Baseline)),
			Hint:    byHand(agent),
		}
	}
	// Before hundreds of megabytes are fetched for nothing.
	if _, err := i.Cache.command(ctx, agent, ""); err != nil {
		return Program{}, false, err
	}
	home := filepath.Join(i.Cache.dir, agent.Name)
	unlock, err := lock(ctx, home)
	if err != nil {
		return Program{}, false, err
	}
	defer unlock()
	path, err := i.Cache.installed(agent)
	if err == nil && path == "" {
		fresh = true
		path, err = i.bring(ctx, agent, home)
	}
	if err != nil {
		return Program{}, false, err
	}
	command, err := i.Cache.command(ctx, agent, path)
	return Program{Command: command, Version: agent.Version, Source: SourceInstalled}, fresh, err
}

// bring does the work beside the final place; home's lock is held.
func (i *Installer) bring(ctx context.Context, a Agent, home string) (string, error) {
	if err := sweep(home); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(home, newPrefix+"*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }() // else the next install does it
	files := filepath.Join(work, "package")
	if err := os.Mkdir(files, 0o755); err != nil {
		return "", err
	}
	if err := i.fill(ctx, a, work, files); err != nil {
		return "", err
	}
	if err := i.check(ctx, a, files); err != nil {
		return "", err
	}
	if err := i.mark(a, files); err != nil {
		return "", err
	}
	return i.place(a, work, files)
}

// fill puts the agent's files into files.
func (i *Installer) fill(ctx context.Context, a Agent, work, files string) error {
	base, err := i.registry(ctx)
	if err != nil {
		return err
	}
	if a.Locked != "" {
		return i.npmInstall(ctx, a, base.String(), files)
	}
	artifact, _ := a.artifact(i.Cache.platform)
	archive := filepath.Join(work, "package.tgz")
	if err := i.download(ctx, a, artifact, base, archive); err != nil {
		return err
	}
	i.progress(Progress{Agent: a.Name, Step: StepUnpack})
	if err := unpack(ctx, archive, files); err != nil {
		return fmt.Errorf("unpack %s: %w", artifact.Package, err)
	}
	return nil
}

// check runs what was unpacked: a program of another C library or processor
// shows here, not in somebody's first turn.
func (i *Installer) check(ctx context.Context, a Agent, files string) error {
	i.progress(Progress{Agent: a.Name, Step: StepCheck})
	got, err := i.Cache.selfVersion(ctx, a, files)
	if err != nil {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s does not run on this machine", a.Title), Err: err,
			Hint: "Nothing was installed.",
		}
	}
	if got != a.Version {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s says it is version %s, wanted is %s", a.Title, got, a.Version),
			Hint: "Nothing was installed.",
		}
	}
	return nil
}

func (i *Installer) mark(a Agent, files string) error {
	_, integrity, err := i.Cache.wanted(a)
	if err != nil {
		return err
	}
	content, err := json.Marshal(record{Agent: a.Name, Version: a.Version, Integrity: integrity})
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(files, marker), content)
}

// place moves the files to where they are looked for. What is in the way is
// not whole, or another platform's.
func (i *Installer) place(a Agent, work, files string) (string, error) {
	target := i.Cache.folder(a)
	if err := os.Rename(target, filepath.Join(work, "before")); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	if err := os.Rename(files, target); err != nil {
		return "", err
	}
	path, err := i.Cache.installed(a)
	if err == nil && path == "" {
		err = protocol.Errorf(protocol.CodeUnavailable, "the package of %s has not the program that the manifest names", a.Title)
	}
	return path, err
}

// newPrefix is of folders in which an install is under way.
const newPrefix = ".new-"

// sweep removes what installs left that were cut off.
func sweep(home string) error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), newPrefix) {
			if err := os.RemoveAll(filepath.Join(home, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *Installer) progress(p Progress) {
	if i.OnProgress != nil {
		i.OnProgress(p)
	}
}

func (i *Installer) npm() string {
	if i.NPM != "" {
		return i.NPM
	}
	return "npm"
}
