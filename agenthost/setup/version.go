package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/internal/lazyregexp"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// versionTimeout bounds a run with --version. A cold start of the largest program
// reads 350 MB.
const versionTimeout = 30 * time.Second

// maxVersionOutput is more than the tested programs print; further output is
// dropped.
const maxVersionOutput = 64 << 10

var versionPattern = lazyregexp.New(`\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?`)

// programKey identifies one state of a program file, so that a changed file is run
// again.
type programKey struct {
	command  string
	size     int64
	modified time.Time
}

// version returns the version of a program. It runs the program only once while the
// file does not change.
func (c *Cache) version(ctx context.Context, command []string) (string, error) {
	info, err := os.Stat(command[len(command)-1])
	if err != nil {
		return "", err
	}
	key := programKey{strings.Join(command, "\x00"), info.Size(), info.ModTime()}
	c.mu.Lock()
	known := c.versions[key]
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	got, err := c.askVersion(ctx, command)
	if err == nil {
		c.mu.Lock()
		c.versions[key] = got
		c.mu.Unlock()
	}
	return got, err
}

// askVersion runs the program with --version in an empty home directory, because some
// programs write into it, and without the variables of the host.
func (c *Cache) askVersion(ctx context.Context, command []string) (string, error) {
	home, err := os.MkdirTemp("", "bellhop-version-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(home) }()
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	run := process.Command{
		Args: slices.Concat(command, []string{"--version"}), Dir: home,
		Env: []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")},
	}
	if c.confine != nil {
		if run, err = c.confine(home, run); err != nil {
			return "", err
		}
		defer process.RemoveGroup(run.Group)
	}
	cmd := exec.CommandContext(ctx, run.Args[0], run.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = run.Dir, run.Env, time.Second
	out := &cappedBuffer{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s --version: %w", command[len(command)-1], err)
	}
	found := versionPattern.FindString(out.String())
	if found == "" {
		return "", fmt.Errorf("%s --version: no version in the output", command[len(command)-1])
	}
	return found, nil
}

// selfVersion returns the version of the program in the directory files. Programs with
// a lock file have no --version flag, so it reads their package.json.
func (c *Cache) selfVersion(ctx context.Context, a Agent, files string) (string, error) {
	if a.Locked != "" {
		return packageVersion(filepath.Join(files, "node_modules", filepath.FromSlash(a.Package), "package.json"))
	}
	artifact, _ := a.Artifact(c.platform)
	command, err := c.command(ctx, a, filepath.Join(files, filepath.FromSlash(artifact.Path)))
	if err != nil {
		return "", err
	}
	return c.askVersion(ctx, command)
}

func packageVersion(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var manifest struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return manifest.Version, nil
}

// cappedBuffer keeps the first maxVersionOutput bytes that are written to it.
type cappedBuffer struct{ strings.Builder }

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if room := maxVersionOutput - b.Len(); room > 0 {
		_, _ = b.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// satisfies accepts the same major and minor version with the same or a newer patch.
// Providers work with all patches so far, and users' own copies update themselves.
func satisfies(got, wanted string) bool {
	if wanted == AnyVersion || got == wanted {
		return true
	}
	g, okGot := parseVersion(got)
	w, okWanted := parseVersion(wanted)
	return okGot && okWanted && g[0] == w[0] && g[1] == w[1] && g[2] >= w[2] && !strings.Contains(got, "-")
}

func parseVersion(version string) ([3]int, bool) {
	var out [3]int
	plain, _, _ := strings.Cut(version, "-")
	parts := strings.Split(plain, ".")
	if len(parts) != len(out) {
		return out, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return out, false
		}
		out[i] = n
	}
	return out, true
}

// findNode returns the path of a Node.js that is new enough for a.
func (c *Cache) findNode(ctx context.Context, a Agent) (string, error) {
	errNode := func(problem string, err error) error {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s needs Node.js %d or newer: %s", a.Title, a.Node, problem),
			Err:  err,
			Hint: fmt.Sprintf("Install Node.js %d or newer and see that 'node' is on the PATH of the host.", a.Node),
		}
	}
	path, err := c.lookPath("node")
	if err != nil {
		return "", errNode("it is not on the PATH", nil)
	}
	got, err := c.version(ctx, []string{path})
	if err != nil {
		return "", errNode("cannot read the version of the one on the PATH", err)
	}
	if parts, ok := parseVersion(got); !ok || parts[0] < a.Node {
		return "", errNode("the one on the PATH is "+got, nil)
	}
	return path, nil
}
