package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bellhop/internal/process"
	"bellhop/protocol"
)

// npmInstall runs npm to install the packages of the lock file into dir. Scripts of
// packages do not run.
func (i *Installer) npmInstall(ctx context.Context, a Agent, registry *url.URL, dir string) error {
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
	printed := &npmOutput{onLine: i.OnLine, mask: credentialsMask(registry)}
	err = runNPM(ctx, process.Command{
		Args: []string{
			npm, "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=http",
		},
		Dir: dir, Env: npmEnvironment(os.Environ(), registry.String()), Output: printed,
	})
	printed.finish()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if printed.isFull {
		err = errors.Join(err, syscall.ENOSPC)
	}
	return &protocol.Error{
		Code: protocol.CodeUnavailable, Message: "npm could not install " + a.Name, Err: err,
		Hint: "npm printed: " + strings.Join(printed.lastLines(5), "\n   "),
	}
}

// runNPM ends npm and the programs that it started when ctx ends.
func runNPM(ctx context.Context, c process.Command) error {
	npm, err := process.Start(c)
	if err != nil {
		return err
	}
	select {
	case <-npm.Done():
		return npm.Wait()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), npm.Kill())
	}
}

// npmEnvironment returns the variables that npm needs. The host's own ones may hold its password and the
// keys of language models, so they are left out.
func npmEnvironment(environment []string, registry string) []string {
	names := []string{
		"PATH", "HOME", "USER", "LANG", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"NODE_EXTRA_CA_CERTS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	}
	var kept []string
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		if slices.Contains(names, upper) || strings.HasPrefix(upper, "NPM_CONFIG_") {
			kept = append(kept, pair)
		}
	}
	return append(kept, "npm_config_registry="+registry, "npm_config_update_notifier=false")
}

// credentialsMask removes the user and the password of the registry's URL.
func credentialsMask(registry *url.URL) func(string) string {
	password, hasPassword := registry.User.Password()
	if registry.User == nil || !hasPassword || password == "" {
		return func(line string) string { return line }
	}
	return strings.NewReplacer(registry.User.String()+"@", "", password, "[redacted]").Replace
}

const (
	npmLines     = 50
	npmLineBytes = protocol.MaxInstallationText
)

// npmOutput keeps the last lines that npm prints.
type npmOutput struct {
	onLine func(string)
	mask   func(string) string
	isFull bool // npm found no room on the disk
	lines  []string
	rest   []byte // the incomplete last line
}

// Write never fails: an error would end npm.
func (o *npmOutput) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		o.rest = append(o.rest, line[:min(len(line), npmLineBytes-len(o.rest))]...)
		if ended {
			o.finish()
		}
	}
	return len(p), nil
}

// finish ends the incomplete line.
func (o *npmOutput) finish() {
	line := strings.TrimSpace(o.mask(strings.ToValidUTF8(string(o.rest), "")))
	o.rest = o.rest[:0]
	if line == "" {
		return
	}
	o.isFull = o.isFull || strings.Contains(line, "ENOSPC")
	if o.lines = append(o.lines, line); len(o.lines) > npmLines {
		o.lines = o.lines[1:]
	}
	if o.onLine != nil {
		o.onLine(line)
	}
}

// lastLines returns the last errors, or the last lines if there is none.
func (o *npmOutput) lastLines(n int) []string {
	lines := slices.DeleteFunc(slices.Clone(o.lines), func(line string) bool {
		return !strings.HasPrefix(line, "npm error") && !strings.HasPrefix(line, "npm ERR!")
	})
	if len(lines) == 0 {
		lines = o.lines
	}
	return lines[max(0, len(lines)-n):]
}
