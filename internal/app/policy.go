package app

import (
	"log/slog"
	"os"

	"bellhop/policy"
)

// openPolicy opens the rules of a host: those of its configuration file, which
// are followed as they change, or the built-in ones.
func (f HostFile) openPolicy(log *slog.Logger) (*policy.Live, error) {
	return policy.Open(policy.LiveOptions{File: f.path, Section: true, Engine: PolicyOptions(), Log: log})
}

// PolicyOptions are those of rules on this machine. A home that is not known
// leaves ~ without a meaning.
func PolicyOptions() policy.Options {
	home, err := os.UserHomeDir()
	if err != nil {
		return policy.Options{}
	}
	return policy.Options{Home: home}
}
