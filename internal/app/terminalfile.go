package app

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// TerminalFile configures the terminals that users open in workspaces. Without it there are none.
type TerminalFile struct {
	Enabled    bool     `yaml:"enabled"`
	Shell      []string `yaml:"shell"`      // program and arguments; empty = bash or sh as a login shell
	PerSession string   `yaml:"perSession"` // most terminals of a session; "" = 4
	Idle       string   `yaml:"idle"`       // after which a terminal ends in which nothing is typed; "" = 30 minutes
}

// terminalFields has no UnmarshalYAML, so decoding it does not recurse.
type terminalFields TerminalFile

// UnmarshalYAML also takes "on" and "off".
func (t *TerminalFile) UnmarshalYAML(node *yamlfile.Node) error {
	if node.Kind != yamlfile.Mapping {
		switch node.Value {
		case "on", "true":
			t.Enabled = true
		case "off", "false", "":
		default:
			return fmt.Errorf("line %d: terminal is on, off, or has enabled, shell, perSession and idle", node.Line)
		}
		return nil
	}
	if err := checkKeys(node, "terminal", "enabled", "shell", "perSession", "idle"); err != nil {
		return err
	}
	return yamlfile.Decode(node, (*terminalFields)(t))
}

// Limits of the settings.
const (
	maxTerminals = 32
	minIdle      = time.Minute
	maxIdle      = 24 * time.Hour
)

func (t TerminalFile) check() error {
	_, err := t.parse()
	return err
}

// parse returns the options of the file.
func (t TerminalFile) parse() (agenthost.ShellOptions, error) {
	options := agenthost.ShellOptions{Command: t.Shell}
	if len(t.Shell) > 0 && !filepath.IsAbs(t.Shell[0]) {
		return options, protocol.Errorf(protocol.CodeInvalid, "terminal: shell %q is no absolute path", t.Shell[0])
	}
	var err error
	if t.PerSession != "" {
		options.PerSession, err = strconv.Atoi(t.PerSession)
		if err != nil || options.PerSession < 1 || options.PerSession > maxTerminals {
			return options, protocol.Errorf(protocol.CodeInvalid, "terminal: perSession must be 1 to %d", maxTerminals)
		}
	}
	if t.Idle != "" {
		options.Idle, err = time.ParseDuration(t.Idle)
		if err != nil || options.Idle < minIdle || options.Idle > maxIdle {
			return options, protocol.Errorf(protocol.CodeInvalid, "terminal: idle must be %s to %s, such as 30m", minIdle,
				maxIdle)
		}
	}
	return options, nil
}

// options returns the options of a host's shells, nil for none. The file was checked before.
func (t TerminalFile) options(c HostConfig) *agenthost.ShellOptions {
	options, err := t.parse()
	if err != nil || !t.Enabled {
		return nil
	}
	options.Records, options.Log = c.records(), c.Log
	return &options
}
