package release

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// binaries builds the program for each target, and for this machine.
func (b *builder) binaries(ctx context.Context) error {
	targets := b.Targets
	if !slices.Contains(targets, native()) {
		targets = append(slices.Clone(targets), native())
	}
	b.program = b.binaryPath(native())
	for _, t := range targets {
		b.Step("binary " + t.String())
		err := b.run(ctx, b.Source, []string{"CGO_ENABLED=0", "GOOS=" + t.OS, "GOARCH=" + t.Arch, "GOFLAGS="},
			"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+b.Version,
			"-o", b.binaryPath(t), "./cmd/bellhop")
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

func (b *builder) binaryPath(t Target) string { return b.staged("bin", t.String(), t.binary()) }

// run runs a program with further variables of its environment. Its error has what the program wrote.
func (b *builder) run(ctx context.Context, dir string, variables []string, args ...string) error {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // programs of this package
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &output, &output
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(b.Time.Unix(), 10), "TZ=UTC", "LC_ALL=C")
	cmd.Env = append(cmd.Env, variables...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args[:min(3, len(args))], " "), err, &output)
	}
	return nil
}

// documents writes what the program prints about itself, for archives and packages.
func (b *builder) documents(ctx context.Context) error {
	for _, d := range []struct {
		name string
		args []string
	}{
		{"bellhop.1", []string{"manual"}},
		{"completions/bellhop.bash", []string{"completion", "bash"}},
		{"completions/_bellhop", []string{"completion", "zsh"}},
		{"completions/bellhop.fish", []string{"completion", "fish"}},
		{"NOTICES", []string{"licenses"}},
	} {
		text, err := exec.CommandContext(ctx, b.program, d.args...).Output() //nolint:gosec // it was built here
		if err != nil {
			return fmt.Errorf("bellhop %s: %w", strings.Join(d.args, " "), err)
		}
		if err := writeFile(b.staged("share", d.name), text, 0o644); err != nil {
			return err
		}
		if d.name == "bellhop.1" {
			if err := writeFile(b.staged("share", "bellhop.1.gz"), compressed(text), 0o644); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if err := copyFile(b.source(name), b.staged("share", name), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compressed has no time and no name of a file.
func compressed(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = w.Write(content)
	_ = w.Close()
	return out.Bytes()
}

func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a release is public
		return err
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask is
}

func copyFile(from, to string, mode os.FileMode) error {
	content, err := os.ReadFile(from) //nolint:gosec // a file of the release
	if err != nil {
		return err
	}
	return writeFile(to, content, mode)
}
