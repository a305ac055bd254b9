// Command bellhop-release makes the files of a release: "make release" runs it.
package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"bellhop/internal/release"
)

type commandLine struct {
	Output       string   `default:"dist" placeholder:"DIR" help:"Directory for the files (${default}); an earlier release there is replaced."`
	Target       []string `placeholder:"OS/ARCH" help:"Only these systems, such as linux/amd64."`
	BaseURL      string   `name:"base-url" env:"RELEASE_URL" placeholder:"URL" help:"Where the files will be published, for the Homebrew formula."`
	KeyFile      string   `env:"RELEASE_KEY_FILE" placeholder:"FILE" help:"Private key of cosign that signs the checksums."`
	PasswordFile string   `env:"RELEASE_KEY_PASSWORD_FILE" placeholder:"FILE" help:"Password of that key."`
}

func main() {
	var cli commandLine
	kong.Parse(&cli, kong.Name("bellhop-release"),
		kong.Description("Makes the files of a release from the commit that is checked out."))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := cli.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bellhop-release:", err)
		stop()
		os.Exit(1) //nolint:gocritic // nothing is left to do
	}
}

func (c commandLine) run(ctx context.Context, out io.Writer) error {
	config := release.Config{BaseURL: c.BaseURL}
	var err error
	if config.Key, err = c.key(); err != nil {
		return err
	}
	if config.Source, err = git(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return err
	}
	if config.Version, err = git(ctx, "describe", "--tags", "--always", "--dirty"); err != nil {
		return err
	}
	if config.Time, err = commitTime(ctx); err != nil {
		return err
	}
	if config.Output, err = filepath.Abs(c.Output); err != nil {
		return err
	}
	for _, name := range c.Target {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("--target %s: write it as linux/amd64", name)
		}
		config.Targets = append(config.Targets, release.Target{OS: system, Arch: arch})
	}
	started := time.Now()
	config.Step = func(what string) {
		_, _ = fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(started).Seconds(), what)
	}
	if err := release.Build(ctx, config); err != nil {
		return err
	}
	config.Step(config.Version + " is in " + config.Output)
	if config.Key == nil {
		_, err = fmt.Fprintln(out, "The checksums are NOT signed: set RELEASE_KEY_FILE to the private key of cosign.")
	}
	return err
}

func (c commandLine) key() (*ecdsa.PrivateKey, error) {
	if c.KeyFile == "" {
		if c.PasswordFile != "" {
			return nil, errors.New("there is a password without a key: set RELEASE_KEY_FILE")
		}
		return nil, nil //nolint:nilnil // an unsigned release
	}
	content, err := os.ReadFile(c.KeyFile)
	if err != nil {
		return nil, err
	}
	var password []byte
	if c.PasswordFile != "" {
		if password, err = os.ReadFile(c.PasswordFile); err != nil {
			return nil, err
		}
	}
	key, err := release.ReadKey(content, []byte(strings.TrimRight(string(password), "\r\n")))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.KeyFile, err)
	}
	return key, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output() //nolint:gosec // arguments of this program
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

func commitTime(ctx context.Context) (time.Time, error) {
	out, err := git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(out, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}
