package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// Level states which escapes the kernel blocks for a program in the sandbox, as measured
// when the host started.
type Level struct {
	Mode     Mode     `json:"mode"`
	Landlock int      `json:"landlock"` // version of the kernel's interface; 0 = none
	Blocked  []string `json:"blocked"`  // escapes that failed, as they must
	Open     []string `json:"open"`     // escapes that succeeded
	Error    string   `json:"error,omitempty"`

	Unverified bool `json:"unverified,omitempty"` // no test has run such a sandbox; Blocked was measured

	Namespaces   bool   `json:"namespaces"`             // files, processes and shared memory of its own
	NoNamespaces string `json:"noNamespaces,omitempty"` // why it has none

	Network   Network `json:"network"`             // of sessions that name no other
	NoNetwork string  `json:"noNetwork,omitempty"` // why programs cannot have one of their own

	Groups   bool     `json:"groups"`             // each program has a control group, by which all of it is ended
	Limits   []string `json:"limits"`             // controllers that limit sessions: memory, pids, cpu
	NoLimits string   `json:"noLimits,omitempty"` // why some are missing

	User   string `json:"user,omitempty"`   // user ids of programs, "" = that of the host
	NoUser string `json:"noUser,omitempty"` // why programs have the host's although others are configured
}

// The escapes that a host tries at its start. A level without the first four is no
// sandbox.
const (
	escapeRead     = "read the host's files"
	escapeWrite    = "write outside the workspace"
	escapeMemory   = "read the host's memory and environment"
	escapeSignal   = "signal the host"
	escapeAbstract = "connect to abstract sockets of the host"
	escapeSocket   = "connect to socket files of the host"
	escapeCalls    = "use system calls for administration"
	escapeProcess  = "see the host's processes"
	escapeMode     = "change the mode of the host's files"
	escapeLoopback = "connect to ports of this machine"
	escapeNetwork  = "send to other machines"
)

var essentialEscapes = []string{escapeRead, escapeWrite, escapeMemory, escapeSignal}

// IsEnough reports whether all essential escapes are blocked, as ModeRequired demands.
func (l *Level) IsEnough() bool {
	return l.Mode != ModeOff && l.Error == "" && !slices.ContainsFunc(essentialEscapes, func(escape string) bool {
		return !slices.Contains(l.Blocked, escape)
	})
}

// Summary describes the level in one line for people.
func (l *Level) Summary() string {
	switch {
	case l.Mode == ModeOff:
		return "off: agents can read the host's data and other sessions"
	case l.Error != "":
		return "cannot be set up: " + l.Error
	}
	summary := "on (Landlock " + strconv.Itoa(l.Landlock)
	if l.Unverified {
		summary = "on (sandbox-exec of macOS, which Bellhop's tests have not verified"
	}
	if l.Namespaces {
		summary += ", namespaces"
	}
	summary += ", network " + string(l.Network) + ")"
	if l.NoNamespaces != "" {
		summary += ", without namespaces (" + l.NoNamespaces + ")"
	} else if l.NoNetwork != "" {
		summary += ", without a network of their own (" + l.NoNetwork + ")"
	}
	switch {
	case l.User != "":
		summary += ", as user " + l.User
	case l.NoUser != "":
		summary += ", as the host's user (" + l.NoUser + ")"
	}
	if l.Groups || l.NoLimits != "" {
		summary += ", limits of " + cmp.Or(strings.Join(l.Limits, ", "), "no control group")
		if l.NoLimits != "" {
			summary += " (" + l.NoLimits + ")"
		}
	}
	if len(l.Open) > 0 {
		summary += ", but programs can " + strings.Join(l.Open, ", ")
	}
	return summary
}

// Offered describes the level to the users of brokers.
func (l *Level) Offered() *protocol.OfferedSandbox {
	state := protocol.SandboxFull
	switch {
	case !l.IsEnough():
		state = protocol.SandboxNone
	case len(l.Open) > 0:
		state = protocol.SandboxPartial
	}
	return &protocol.OfferedSandbox{
		State: state, Landlock: l.Landlock, Namespaces: l.Namespaces, Network: string(l.Network),
		OwnUser: l.User != "", Limits: l.Limits, Open: l.Open,
	}
}

// probeTargets are what the probe, a program in the sandbox, tries to reach.
type probeTargets struct {
	Pid      int    `json:"pid"` // of the host
	File     string `json:"file"`
	Abstract string `json:"abstract"`
	Socket   string `json:"socket"`
	Port     int    `json:"port"`
	Bridge   int    `json:"bridge,omitempty"` // port inside that must lead to Port
	User     int    `json:"user"`             // user id that the probe must have
}

// errNoBridge means that the probe could not reach the host over its bridge.
const errNoBridge = "the bridge out of the network leads nowhere"

// probeBridge is the port of the probe's bridge; any port is free in a new network.
const probeBridge = 7700

// probeTimeout is long enough for a slow machine; the probe takes some milliseconds.
const probeTimeout = 20 * time.Second

// measure runs the probe in the sandbox and returns the escapes that succeeded, by
// name. With a network of its own the probe must also reach the host over a bridge.
func measure(
	ctx context.Context, o Options, network bool, user *owner.ID, wrap func(Session, []string) ([]string, error),
) (map[string]bool, error) {
	if !hasSandbox {
		return nil, errors.ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	targets, closeTargets, err := makeTargets(o.Data)
	if err != nil {
		return nil, err
	}
	defer closeTargets()
	session := Session{Network: NetworkOpen}
	targets.User = os.Geteuid()
	if user != nil {
		targets.User = user.UID
	}
	if network {
		targets.Bridge = probeBridge
		session = Session{
			Network: NetworkNone,
			Bridges: []Bridge{{Port: probeBridge, To: net.JoinHostPort("127.0.0.1", strconv.Itoa(targets.Port))}},
		}
	}
	encoded, err := json.Marshal(targets)
	if err != nil {
		return nil, err
	}
	args, err := wrap(session, []string{o.Self, probeCommand, string(encoded)})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	succeeded := map[string]bool{}
	return succeeded, json.Unmarshal(stdout.Bytes(), &succeeded)
}

// makeTargets makes a file, sockets and a port that a confined program must not reach.
// Kinds of sockets that the system does not have are left out.
func makeTargets(dir string) (*probeTargets, func(), error) {
	path, err := os.MkdirTemp(dir, ".probe-")
	if err != nil {
		return nil, nil, err
	}
	t := &probeTargets{
		Pid: os.Getpid(), File: filepath.Join(path, "target"), Socket: filepath.Join(path, "s"),
		Abstract: "@bellhop-" + filepath.Base(path),
	}
	var listeners []net.Listener
	release := func() {
		for _, l := range listeners {
			_ = l.Close()
		}
		_ = os.RemoveAll(path)
	}
	if err := os.WriteFile(t.File, []byte("target\n"), 0o600); err != nil {
		release()
		return nil, nil, err
	}
	for _, address := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", t.Socket}, {"unix", t.Abstract}} {
		l, err := net.Listen(address[0], address[1]) //nolint:noctx // closed below
		if err != nil {
			continue // such as a socket whose path is too long
		}
		listeners = append(listeners, l)
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			t.Port = tcp.Port
		}
	}
	return t, release, nil
}

// newLevel makes a level of the probe's result or error.
func newLevel(mode Mode, succeeded map[string]bool, err error) *Level {
	level := &Level{
		Mode: mode, Unverified: isUnverified, Landlock: launch.LandlockVersion(),
		Blocked: []string{}, Open: []string{}, Limits: []string{},
	}
	for _, escape := range slices.Sorted(maps.Keys(succeeded)) {
		if succeeded[escape] {
			level.Open = append(level.Open, escape)
		} else {
			level.Blocked = append(level.Blocked, escape)
		}
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		level.Error = "this system has no sandbox that Bellhop knows"
	case err != nil:
		level.Error = err.Error()
	}
	return level
}
