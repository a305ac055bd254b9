package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bellhop/protocol"
)

// Installer downloads agent programs into a cache. Cache and Registry are required.
type Installer struct {
	Cache *Cache

	// Registry returns the URL of the npm registry; see NPMRegistry.
	Registry func(ctx context.Context) (string, error)

	Client *http.Client  // nil = one with time limits
	NPM    string        // path of the npm program; "" = npm on PATH
	Stall  time.Duration // time without data after which a download fails; 0 = a minute

	// OnProgress is called many times a second during an install; nil = not called.
	OnProgress func(Progress)
	// OnLine is called with each line that npm prints; nil = not called.
	OnLine func(line string)
}

// Step is a step of an install.
type Step = protocol.InstallationStep

// Steps in their order. An install has either StepNPM or the two steps before it, and StepWait only
// while another one installs the same program.
const (
	StepWait     = protocol.InstallationWait
	StepDownload = protocol.InstallationDownload
	StepUnpack   = protocol.InstallationUnpack
	StepNPM      = protocol.InstallationNPM
	StepCheck    = protocol.InstallationCheck
)

// Progress describes the progress of an install. Total is 0 if it is unknown.
type Progress struct {
	Agent       string
	Step        Step
	Done, Total int64 // bytes, while downloading
}

// Install downloads the pinned version of an agent, verifies it and moves it into the
// cache atomically. If it is already installed, fresh is false. Concurrent installs of
// one agent wait for each other. CodeNotFound: unknown agent. CodeInvalid: no build
// for this platform, no registry configured, Node.js or npm is missing, or the directory cannot be
// written. CodeUnavailable: the registry failed or sent a package with another checksum.
// CodeStorageFull: the disk is full.
func (i *Installer) Install(ctx context.Context, name string) (program Program, fresh bool, err error) {
	program, fresh, err = i.install(ctx, name)
	if err != nil && ctx.Err() == nil {
		err = withDiskRemedy(name, err)
	}
	return program, fresh, err
}

func (i *Installer) install(ctx context.Context, name string) (program Program, fresh bool, err error) {
	agent, err := i.Cache.Agent(name)
	if err != nil {
		return Program{}, false, err
	}
	if !i.Cache.isInstallable(agent) {
		return Program{}, false, &protocol.Error{
			Code: protocol.CodeInvalid,
			Message: fmt.Sprintf("%s %s is not pinned for this platform (%s)",
				agent.Title, agent.Version, i.Cache.platform.manifestKey(agent.Baseline)),
			Hint: manualInstallHint(agent),
		}
	}
	// Check for Node.js before downloading hundreds of megabytes.
	if _, err := i.Cache.command(ctx, agent, ""); err != nil {
		return Program{}, false, err
	}
	home := filepath.Join(i.Cache.dir, agent.Name)
	unlock, err := lock(ctx, home, func() { i.progress(Progress{Agent: name, Step: StepWait}) })
	if err != nil {
		return Program{}, false, err
	}
	defer unlock()
	path, err := i.Cache.installed(agent)
	if err == nil && path == "" {
		fresh = true
		path, err = i.installFiles(ctx, agent, home)
	}
	if err != nil {
		return Program{}, false, err
	}
	command, err := i.Cache.command(ctx, agent, path)
	return Program{Command: command, Version: agent.Version, Source: SourceInstalled}, fresh, err
}

// installFiles installs into a temporary directory in home and then moves it. The
// caller holds home's lock.
func (i *Installer) installFiles(ctx context.Context, a Agent, home string) (string, error) {
	if err := removeInterrupted(home); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(home, workPrefix+"*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()     // if this fails, the next install removes it
	if err := os.Chmod(work, 0o755); err != nil { //nolint:gosec // the check of the version may run as another user
		return "", err
	}
	files := filepath.Join(work, "package")
	if err := os.Mkdir(files, 0o755); err != nil {
		return "", err
	}
	if err := i.fetchFiles(ctx, a, work, files); err != nil {
		return "", err
	}
	if err := i.check(ctx, a, files); err != nil {
		return "", err
	}
	if err := i.writeMarker(a, files); err != nil {
		return "", err
	}
	return i.moveIntoPlace(a, work, files)
}

// fetchFiles downloads the agent's files into the directory files.
func (i *Installer) fetchFiles(ctx context.Context, a Agent, work, files string) error {
	base, err := i.registry(ctx)
	if err != nil {
		return err
	}
	if a.Locked != "" {
		return i.npmInstall(ctx, a, base, files)
	}
	artifact, _ := a.Artifact(i.Cache.platform)
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

// check runs the unpacked program, so that a build for another C library or processor
// fails during the install and not in a user's first turn.
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
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s reports version %s, wanted is %s", a.Title, got, a.Version),
			Hint: "Nothing was installed.",
		}
	}
	return nil
}

func (i *Installer) writeMarker(a Agent, files string) error {
	_, integrity, err := i.Cache.pinnedFile(a)
	if err != nil {
		return err
	}
	content, err := json.Marshal(record{Agent: a.Name, Version: a.Version, Integrity: integrity})
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(files, marker), content)
}

// moveIntoPlace moves the files to their final directory. It replaces an existing one,
// which is incomplete or for another platform.
func (i *Installer) moveIntoPlace(a Agent, work, files string) (string, error) {
	target := i.Cache.agentDir(a)
	if err := os.Rename(target, filepath.Join(work, "before")); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	if err := os.Rename(files, target); err != nil {
		return "", err
	}
	path, err := i.Cache.installed(a)
	if err == nil && path == "" {
		err = protocol.Errorf(protocol.CodeUnavailable, "the package of %s does not contain its program", a.Title)
	}
	return path, err
}

// workPrefix begins the names of directories of installs in progress.
const workPrefix = ".new-"

// removeInterrupted removes the directories of interrupted installs.
func removeInterrupted(home string) error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), workPrefix) {
			if err := os.RemoveAll(filepath.Join(home, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// withDiskRemedy names the remedy if the disk or its owner is the reason of err.
func withDiskRemedy(name string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &protocol.Error{
			Code: protocol.CodeStorageFull, Message: "the disk is full: there is no room for " + name, Err: err,
			Hint: "Nothing was installed. Free some room, or set BELLHOP_AGENTS_DIR to a directory on another disk.",
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "the directory of agents' programs cannot be written", Err: err,
			Hint: "Give it to the user of the host, or set BELLHOP_AGENTS_DIR to another directory.",
		}
	}
	return err
}

func (i *Installer) progress(p Progress) {
	if i.OnProgress != nil {
		i.OnProgress(p)
	}
}

func (i *Installer) npmProgram() string {
	if i.NPM != "" {
		return i.NPM
	}
	return "npm"
}
