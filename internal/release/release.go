package release

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Config describes a release.
type Config struct {
	Source  string    // root of the sources, with a built console
	Output  string    // directory for the files: a new one, or one of an earlier release, which is replaced
	Version string    // as "bellhop version" prints it, such as v1.2.3
	Time    time.Time // of the commit
	Targets []Target  // nil = AllTargets
	BaseURL string    // where the files will be published; "" = beside the formula

	// Key signs the checksums; nil = no signature.
	Key *ecdsa.PrivateKey
	// Step is called before each step, for progress; may be nil.
	Step func(what string)
}

// Target is a system that a binary is built for.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "_" + t.Arch }

// binary returns the name of the program's file.
func (t Target) binary() string {
	if t.OS == "windows" {
		return "bellhop.exe"
	}
	return "bellhop"
}

// AllTargets returns the systems of a release.
func AllTargets() []Target {
	var all []Target
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, Target{system, arch})
		}
	}
	return all
}

// builder is a release that is being made.
type builder struct {
	Config

	work    string // directory that is removed at the end
	number  string // version without "v", as package managers read it
	program string // a binary for this machine, which prints the manual
}

// sumsName is the name of the file with the checksums of all others.
const sumsName = "SHA256SUMS"

// Build makes all files of a release. A failure leaves the output directory as it was.
func Build(ctx context.Context, c Config) error {
	if c.Targets == nil {
		c.Targets = AllTargets()
	}
	if c.Step == nil {
		c.Step = func(string) {}
	}
	if err := checkOutput(c.Output); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.Source, "web", "dist", "index.html")); err != nil {
		return errors.New("the console is not built: run make console first")
	}
	number, err := number(c.Version)
	if err != nil {
		return err
	}
	parent := filepath.Dir(c.Output)
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // a release is public
		return err
	}
	work, err := os.MkdirTemp(parent, ".release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	b := &builder{Config: c, work: work, number: number}
	b.Output = filepath.Join(work, "out")
	if err := os.Mkdir(b.Output, 0o755); err != nil { //nolint:gosec // a release is public
		return err
	}
	if err := b.steps(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(c.Output); err != nil {
		return err
	}
	return os.Rename(b.Output, c.Output)
}

func (b *builder) steps(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"binaries", b.binaries},
		{"manual page, completions, notices", b.documents},
		{"archives", b.archives},
		{"bills of materials", b.bills},
		{"deb and rpm packages", b.packages},
		{"image", b.image},
		{"npm packages", b.npm},
		{"Homebrew formula", b.formula},
		{"checksums", b.checksums},
	} {
		b.Step(step.name)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// checkOutput refuses a directory with files that no release left there.
func checkOutput(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == sumsName }) {
		return fmt.Errorf("%s has files that are not of a release: name an empty directory", dir)
	}
	return nil
}

// native is this machine's target.
func native() Target { return Target{runtime.GOOS, runtime.GOARCH} }

// fileName returns the name of a file of the release.
func (b *builder) fileName(parts ...string) string {
	return strings.Join(append([]string{"bellhop", b.number}, parts...), "_")
}

func (b *builder) source(elements ...string) string {
	return filepath.Join(append([]string{b.Source}, elements...)...)
}

// staged returns a path in the directory that is removed at the end.
func (b *builder) staged(elements ...string) string {
	return filepath.Join(append([]string{b.work}, elements...)...)
}
