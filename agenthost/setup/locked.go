package setup

import (
	"context"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"bellhop/protocol"
)

//go:embed lock
var locks embed.FS

var lockFiles = []string{"package.json", "package-lock.json"}

func lockFile(a Agent, name string) ([]byte, error) {
	return locks.ReadFile(path.Join("lock", a.Locked, name))
}

func lockIntegrity(a Agent) (string, error) {
	content, err := lockFile(a, "package-lock.json")
	if err != nil {
		return "", fmt.Errorf("agent %s: %w", a.Name, err)
	}
	sum := sha512.Sum512(content)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), nil
}

// npmInstall runs npm to install the packages of the lock file into dir. Scripts of
// packages do not run.
func (i *Installer) npmInstall(ctx context.Context, a Agent, registry, dir string) error {
	npm, err := exec.LookPath(i.npmProgram())
	if err != nil {
		return &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("the installation of %s needs npm, which is not on the PATH", a.Name),
			Hint:    fmt.Sprintf("Install Node.js %d or newer, which brings npm.", a.Node),
		}
	}
	for _, name := range lockFiles {
		content, err := lockFile(a, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	i.progress(Progress{Agent: a.Name, Step: StepNPM})
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund",
		"--loglevel=error")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "npm_config_registry="+registry, "npm_config_update_notifier=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &protocol.Error{
			Code: protocol.CodeUnavailable, Message: fmt.Sprintf("npm could not install %s", a.Name), Err: err,
			Hint: "npm printed: " + lastLines(string(out), 5),
		}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n   ")
}
