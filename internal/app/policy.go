package app

import (
	"log/slog"
	"os"

	"bellhop/policy"
)

// openPolicy opens the rules of the host's configuration file, which are reloaded
// when the file changes, or the built-in rules.
func (f HostFile) openPolicy(log *slog.Logger) (*policy.Live, error) {
	return policy.Open(policy.LiveOptions{File: f.path, Section: true, Engine: PolicyOptions(), Log: log})
}

// PolicyOptions returns the options for rules on this machine. If the home
// directory is unknown, rules cannot resolve ~.
func PolicyOptions() policy.Options {
	home, err := os.UserHomeDir()
	if err != nil {
		return policy.Options{}
	}
	return policy.Options{Home: home}
}
