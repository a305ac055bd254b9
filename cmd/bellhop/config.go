package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/database"
	"bellhop/internal/diskspace"
	"bellhop/internal/private"
	"bellhop/protocol"
)

// secretFiles reads the secret file of every flag with the tag `secret:""`:
// the variable NAME_FILE contains its path. It is used only if NAME is not set.
// Containers provide secrets as files.
type secretFiles struct {
	keyset private.Exposure // of the file of the flag with the tag `secret:"keyset"`
}

// Validate is for kong.
func (*secretFiles) Validate(*kong.Application) error { return nil }

// Resolve returns the file's content without the final line end, or nil.
func (s *secretFiles) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !flag.Tag.Has("secret") {
		return nil, nil //nolint:nilnil // nil means that this resolver has no value
	}
	for _, name := range flag.Envs {
		path, ok := os.LookupEnv(name + "_FILE")
		if !ok || path == "" {
			continue
		}
		if value, both := os.LookupEnv(name); both && value != "" {
			return nil, fmt.Errorf("set %s or %s_FILE, not both", name, name)
		}
		content, err := os.ReadFile(path) //nolint:gosec // the user names the file
		if err == nil {
			err = s.check(flag, path)
		}
		if err != nil {
			return nil, fmt.Errorf("%s_FILE: %w", name, err)
		}
		return strings.TrimRight(string(content), "\r\n"), nil
	}
	return nil, nil //nolint:nilnil // nil means that this resolver has no value
}

// check returns an error for a keyset that others can open, because it opens all secrets in the database.
func (s *secretFiles) check(flag *kong.Flag, path string) error {
	if flag.Tag.Get("secret") != "keyset" {
		return nil
	}
	exposure, err := private.ExposureOf(path)
	if err == nil && exposure.IsOpen() {
		err = fmt.Errorf("others can open the file, its mode is %#o. Run chmod 600 on it, or move it to a folder that "+
			"only this user can enter", exposure.Mode)
	}
	s.keyset = exposure
	return err
}

// databaseFlags are the flags that 'serve' and the administration commands share.
type databaseFlags struct {
	DatabaseURL seal.Secret `env:"BELLHOP_DATABASE_URL" secret:"" placeholder:"URL" help:"postgres://user:password@server/name, or sqlite:PATH."`
	Pooler      string      `name:"database-pooler" env:"BELLHOP_DATABASE_POOLER" enum:",transaction" default:"" placeholder:"MODE" help:"'transaction' if the URL leads to a pooler in transaction mode, such as PgBouncer."`
	Keyset      seal.Secret `name:"keyset-file" env:"BELLHOP_KEYSET" secret:"keyset" placeholder:"FILE" help:"File with the keyset that seals secrets in the database. Create one with 'bellhop keys generate'."`
}

func (d databaseFlags) config(env *environment) app.StoreConfig {
	return app.StoreConfig{
		DatabaseURL: d.DatabaseURL, Keyset: d.Keyset, KeysetFile: env.keyset, Pooler: database.Pooler(d.Pooler), Log: env.log, Version: version,
	}
}

// brokerFlags are the flags that 'serve' and 'doctor' share.
type brokerFlags struct {
	databaseFlags `embed:""`

	Listen         string   `env:"BELLHOP_LISTEN" default:"127.0.0.1:7700" placeholder:"ADDR" help:"Address that the broker listens on (${default})."`
	PublicURL      string   `env:"BELLHOP_PUBLIC_URL" placeholder:"URL" help:"URL at which browsers reach the broker; with https, cookies are Secure. Default: http://<listen>, and bellhop.localhost instead of a name of this machine."`
	WebhookURL     string   `env:"BELLHOP_WEBHOOK_URL" placeholder:"URL" help:"URL at which agent hosts reach the broker. Default: the public URL."`
	AllowedOrigins []string `env:"BELLHOP_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Exact origins of other frontends, comma-separated; they use bearer tokens."`
	DiskWarning    diskSize `env:"BELLHOP_DISK_WARNING" default:"1GiB" placeholder:"SIZE" help:"Free space on the disk of an SQLite database below which a warning is shown (${default}); 0 for none."`
}

// diskSize is a flag such as 512MiB.
type diskSize int64

// UnmarshalText implements encoding.TextUnmarshaler, which kong uses.
func (s *diskSize) UnmarshalText(text []byte) error {
	n, err := diskspace.ParseSize(string(text))
	*s = diskSize(n)
	return err
}

// parseCIDRs parses CIDRs; variable is the name for its errors.
func parseCIDRs(variable string, cidrs []string) ([]netip.Prefix, error) {
	parsed := make([]netip.Prefix, 0, len(cidrs))
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(cidr))
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a CIDR such as 10.0.0.0/8", variable, cidr)
		}
		parsed = append(parsed, prefix)
	}
	return parsed, nil
}

// printError prints an error's message and, if it has one, its hint.
func printError(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "bellhop:", err)
	var e *protocol.Error
	if errors.As(err, &e) && e.Hint != "" {
		_, _ = fmt.Fprintln(w, "  ", e.Hint)
	}
}

// devFlag is the flag of commands that can use a running 'bellhop dev'.
type devFlag struct {
	Dev string `placeholder:"DIR" help:"Data directory of a running 'bellhop dev'."`
}

// connection is a server's URL and what a command shows to it: a token or a password.
type connection struct {
	url    string
	secret seal.Secret
}

// connect returns the given connection or, with --dev, that of the running 'bellhop dev'.
// It returns the error missing if there is no secret.
func (d devFlag) connect(
	given connection, ofDev func(app.DevFile) connection, missing *protocol.Error,
) (connection, error) {
	if d.Dev != "" {
		dev, err := readDevFile(d.Dev)
		if err != nil {
			return given, err
		}
		given = ofDev(dev)
	}
	if given.secret.IsZero() {
		return given, missing
	}
	return given, nil
}

// readDevFile reads the dev.json in the data directory of 'bellhop dev'.
func readDevFile(dir string) (app.DevFile, error) {
	var dev app.DevFile
	content, err := os.ReadFile(filepath.Join(dir, "dev.json"))
	if err != nil {
		return dev, fmt.Errorf("--dev: %w (is 'bellhop dev' running with --data %s?)", err, dir)
	}
	if err := json.Unmarshal(content, &dev); err != nil {
		return dev, fmt.Errorf("--dev: %w", err)
	}
	return dev, nil
}
