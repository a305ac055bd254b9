package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/alecthomas/kong"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// secretFiles reads NAME_FILE for every flag marked `secret:""` whose variable
// NAME is not set: the way containers hand over secrets.
type secretFiles struct {
	lookup func(string) (string, bool)
	read   func(string) ([]byte, error)
}

func (secretFiles) Validate(*kong.Application) error { return nil }

// Resolve returns the file's content without its last line end, or nil.
func (s secretFiles) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !flag.Tag.Has("secret") {
		return nil, nil //nolint:nilnil // kong's way to say "not from here"
	}
	for _, name := range flag.Envs {
		path, ok := s.lookup(name + "_FILE")
		if !ok || path == "" {
			continue
		}
		if value, both := s.lookup(name); both && value != "" {
			return nil, fmt.Errorf("set %s or %s_FILE, not both", name, name)
		}
		content, err := s.read(path)
		if err != nil {
			return nil, fmt.Errorf("%s_FILE: %w", name, err)
		}
		return strings.TrimRight(string(content), "\r\n"), nil
	}
	return nil, nil //nolint:nilnil // as above
}

// databaseFlags are the part of the broker's configuration that administration
// commands need too.
type databaseFlags struct {
	DatabaseURL seal.Secret `env:"BELLHOP_DATABASE_URL" secret:"" placeholder:"URL" help:"postgres://user:password@server/name, or sqlite:PATH."`
	Keyset      seal.Secret `env:"BELLHOP_KEYSET" secret:"" placeholder:"KEYSET" help:"Keyset that seals secrets at rest; make one with 'bellhop keys generate'."`
}

func (d databaseFlags) config(env *environment) app.StoreConfig {
	return app.StoreConfig{DatabaseURL: d.DatabaseURL, Keyset: d.Keyset, Log: env.log}
}

// prefixes parses CIDRs, naming the variable in its error.
func prefixes(variable string, cidrs []string) ([]netip.Prefix, error) {
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

// report prints an error for a person: what went wrong, then how to mend it.
func report(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "bellhop:", err)
	var e *protocol.Error
	if errors.As(err, &e) && e.Hint != "" {
		_, _ = fmt.Fprintln(w, "  ", e.Hint)
	}
}
