package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bellhop/protocol"
)

// versionTime bounds how long a program may take to say its version: a cold
// start of the largest one reads 350 MB.
const versionTime = 30 * time.Second

// maxVersionOutput is more than any says; the rest is not kept.
const maxVersionOutput = 64 << 10

var versionForm = regexp.MustCompile(`\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?`)

// binary tells whether a program is still the one that was asked.
type binary struct {
	command string
	size    int64
	changed time.Time
}

// version asks a program, once as long as it does not change.
func (c *Cache) version(ctx context.Context, command []string) (string, error) {
	info, err := os.Stat(command[len(command)-1])
	if err != nil {
		return "", err
	}
	key := binary{strings.Join(command, "\x00"), info.Size(), info.ModTime()}
	c.mu.Lock()
	known := c.versions[key]
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	got, err := askVersion(ctx, command)
	if err == nil {
		c.mu.Lock()
		c.versions[key] = got
		c.mu.Unlock()
	}
	return got, err
}

// askVersion runs the program in an empty home: some write into theirs even for
// this, and none needs a variable for it.
func askVersion(ctx context.Context, command []string) (string, error) {
	home, err := os.MkdirTemp("", "bellhop-version-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(home) }()
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "--version")...)
	cmd.Dir, cmd.WaitDelay = home, time.Second
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	out := &bounded{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s --version: %w", command[len(command)-1], err)
	}
	found := versionForm.FindString(out.String())
	if found == "" {
		return "", fmt.Errorf("%s --version: no version in its answer", command[len(command)-1])
	}
	return found, nil
}

// selfVersion is what the agent in the folder files says it is. A locked one
// has no flag for it; its package tells.
func (c *Cache) selfVersion(ctx context.Context, a Agent, files string) (string, error) {
	if a.Locked != "" {
		return packageVersion(filepath.Join(files, "node_modules", filepath.FromSlash(a.Package), "package.json"))
	}
	artifact, _ := a.artifact(c.platform)
	command, err := c.command(ctx, a, filepath.Join(files, filepath.FromSlash(artifact.Path)))
	if err != nil {
		return "", err
	}
	return askVersion(ctx, command)
}

func packageVersion(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var said struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(content, &said); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return said.Version, nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxVersionOutput - b.Len(); room > 0 {
		_, _ = b.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// fits: the same major and minor version, not an older patch. What providers
// rely on was stable within these, and people's own copies update themselves.
func fits(got, wanted string) bool {
	if wanted == AnyVersion || got == wanted {
		return true
	}
	g, okGot := numbers(got)
	w, okWanted := numbers(wanted)
	return okGot && okWanted && g[0] == w[0] && g[1] == w[1] && g[2] >= w[2] && !strings.Contains(got, "-")
}

func numbers(version string) ([3]int, bool) {
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

// node finds a Node.js that is new enough for a.
func (c *Cache) node(ctx context.Context, a Agent) (string, error) {
	refuse := func(why string, err error) error {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s needs Node.js %d or newer: %s", a.Title, a.Node, why), Err: err,
			Hint: fmt.Sprintf("Install Node.js %d or newer and see that 'node' is on the PATH of the host.", a.Node),
		}
	}
	path, err := c.lookPath("node")
	if err != nil {
		return "", refuse("there is none on the PATH", nil)
	}
	got, err := c.version(ctx, []string{path})
	if err != nil {
		return "", refuse("the one on the PATH does not say its version", err)
	}
	if parts, ok := numbers(got); !ok || parts[0] < a.Node {
		return "", refuse("the one on the PATH is "+got, nil)
	}
	return path, nil
}
