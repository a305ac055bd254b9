package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/owner"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// Mode says what a host does if the sandbox cannot be set up.
type Mode string

// Modes.
const (
	ModeOn       Mode = "on"       // run agents with what the system has, and report gaps
	ModeRequired Mode = "required" // do not start
	ModeOff      Mode = "off"      // no sandbox
)

// Options configure the sandbox of a host. Self and Data are required.
type Options struct {
	Self string // path of the launcher: this binary
	Data string // the host's data directory; the probe creates files there and tries to open them
	Mode Mode   // "" = ModeOn

	Programs string // directory of installed agents' programs; they can be read

	Read  []string // further files and directories that programs can read
	Write []string // further ones that they can change

	// Processes limits the processes and threads of a session, where the system can
	// count them; 0 = 4096.
	Processes int
	// NoNamespaces leaves namespaces out, for systems where they cause failures.
	NoNamespaces bool

	Others      []string // paths that sessions will read; they are only checked
	OthersWrite []string // paths that sessions will change, the same
	InPlace     []string // directories of projects in which sessions work; only checked for Users

	Network Network // of sessions that name none; "" = NetworkProxy where the system has it

	// NeedsNetwork refuses to open a sandbox without NetworkProxy and NetworkNone.
	NeedsNetwork bool

	// Users are the user ids of programs instead of the host's, if that is root; nil = the host's.
	// NeedsUsers refuses to open a sandbox without them.
	Users      *Users
	NeedsUsers bool

	Limits      Limits
	GroupParent string // control group that the host may divide; "" = its own, if that was delegated to it
}

// Sandbox starts programs through the launcher.
type Sandbox struct {
	options Options
	home    string // of the host's user
	level   *Level

	namespaces bool
	network    bool    // programs can have a network of their own
	users      *Users  // nil: programs have the host's user id
	groups     *groups // nil: programs have the host's control group
}

// Session is what a program may use of a session.
type Session struct {
	Name  string   // part of the name of its control group; "" = none
	Home  string   // the session's state directory
	Write []string // its workspace, and what belongs to that
	Read  []string

	User *owner.ID // one of the sandbox's users; nil = the host's

	Network Network  // "" = that of the options
	Bridges []Bridge // the ways out of a network of its own
	Serves  []int    // ports on which the program listens, for clients on this machine's loopback
}

// Open measures what the system's sandbox blocks. It returns CodeUnavailable if the mode is
// required and an essential escape succeeds, or if NeedsNetwork is set and the system cannot
// give programs a network of their own, or if NeedsUsers is set and they cannot have other user ids. It
// returns CodeInvalid if the mode or the network is
// unknown, or if a path is not absolute or would open the host's data.
func Open(ctx context.Context, options Options) (*Sandbox, error) {
	if options.Mode == "" {
		options.Mode = ModeOn
	}
	home, _ := os.UserHomeDir()
	s := &Sandbox{options: options, home: home}
	if err := options.check(); err != nil {
		return nil, err
	}
	if options.Mode == ModeOff {
		s.level = newLevel(ModeOff, nil, nil)
		return s, nil
	}
	s.level = s.measureBest(ctx)
	if options.Users != nil {
		s.openUsers(func() *Level { return s.measureWith(ctx, s.namespaces, s.network) })
	}
	s.openGroups(ctx)
	if options.Limits.Mode == LimitRequired && len(s.level.Limits) < len(controllers) {
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The limits of sessions are required: " + s.level.NoLimits,
			Hint: "Control groups of version 2 must be delegated to the host, such as by Delegate=yes in its systemd " +
				"unit. 'mode: auto' under limits runs agents without.",
		}
	}
	if options.NeedsUsers && s.users == nil {
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "Programs cannot run under another user id: " + s.level.NoUser,
			Hint: "It needs a host that runs as root. 'user: auto' in the host's configuration runs agents as the " +
				"host's user if it must, 'user: host' always.",
		}
	}
	if options.NeedsNetwork && !s.network {
		return nil, &protocol.Error{
			Code:    protocol.CodeUnavailable,
			Message: "Programs cannot have a network of their own: " + cmp.Or(s.level.NoNetwork, s.level.Summary()),
			Hint: "It needs root, or user namespaces for users. 'network: open' in the host's configuration runs agents " +
				"without it.",
		}
	}
	if options.Mode == ModeRequired && !s.level.IsEnough() {
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The sandbox is required, and " + s.level.Summary(),
			Hint: "It needs Linux 6.12 or newer with Landlock. 'mode: on' in the host's configuration runs agents with less.",
		}
	}
	return s, nil
}

// measureBest measures the sandbox with all that it can have, and then with less, until
// the system can set it up.
func (s *Sandbox) measureBest(ctx context.Context) *Level {
	if s.options.NoNamespaces || !hasNamespaces {
		return s.measureWith(ctx, false, false)
	}
	level := s.measureWith(ctx, true, true)
	if level.Error == "" {
		return level
	}
	noNetwork := level.Error
	if level = s.measureWith(ctx, true, false); level.Error == "" {
		level.NoNetwork = noNetwork
		return level
	}
	noNamespaces := level.Error
	level = s.measureWith(ctx, false, false)
	level.NoNamespaces, level.NoNetwork = noNamespaces, noNetwork
	return level
}

func (s *Sandbox) measureWith(ctx context.Context, namespaces, network bool) *Level {
	s.namespaces, s.network = namespaces, network
	user := s.SharedUser()
	succeeded, err := measure(ctx, s.options, network, user, func(session Session, args []string) ([]string, error) {
		session.User = user
		return s.spec(session, args, os.Getenv("PATH")).CommandLine(s.options.Self, args)
	})
	level := newLevel(s.options.Mode, succeeded, err)
	level.Namespaces = namespaces && err == nil
	level.Network = s.NetworkFor("")
	return level
}

// Users returns the user ids of programs, nil if they have the host's.
func (s *Sandbox) Users() *Users { return s.users }

// SharedUser returns the user id of programs that belong to no session, nil for the host's.
func (s *Sandbox) SharedUser() *owner.ID {
	if s.users == nil {
		return nil
	}
	id := s.users.Shared()
	return &id
}

// NetworkFor returns the network that a session gets that asks for wanted.
func (s *Sandbox) NetworkFor(wanted Network) Network {
	if s.options.Mode == ModeOff || !s.network {
		return NetworkOpen
	}
	return cmp.Or(wanted, s.options.Network, NetworkProxy)
}

func (o Options) check() error {
	if !slices.Contains([]Mode{ModeOn, ModeRequired, ModeOff}, o.Mode) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: unknown mode %q", o.Mode),
			Hint: "Modes are on, required and off.",
		}
	}
	if err := o.Limits.Check(); err != nil {
		return err
	}
	if o.Network != "" && !slices.Contains(Networks, o.Network) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: unknown network %q", o.Network),
			Hint: "Networks are open, proxy and none.",
		}
	}
	for _, path := range slices.Concat(o.Read, o.Write, o.Others, o.OthersWrite) {
		if !filepath.IsAbs(path) {
			return protocol.Errorf(protocol.CodeInvalid, "sandbox: %s is not an absolute path", path)
		}
		if !MayOpen(path, o.Data) {
			return &protocol.Error{
				Code:    protocol.CodeInvalid,
				Message: fmt.Sprintf("sandbox: %s would open the host's data directory %s to agents", path, o.Data),
				Hint:    "Name a directory that neither contains it nor lies in it.",
			}
		}
	}
	return nil
}

// MayOpen reports whether a path can be opened to programs: it neither contains the
// host's data nor lies there.
func MayOpen(path, data string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	realData, err := filepath.EvalSymlinks(data)
	if err != nil {
		realData = data
	}
	return !contains(real, realData) && !contains(realData, real)
}

// Level returns the result of the measurement.
func (s *Sandbox) Level() *Level { return s.level }

// isActive reports whether programs are started through the launcher. Where the
// launcher itself failed, they run without it, as the level says.
func (s *Sandbox) isActive() bool { return s.options.Mode != ModeOff && s.level.Error == "" }

// temporary is the directory below a session's home that its programs get for
// temporary files: those of other programs are below /tmp.
const temporary = ".tmp"

// Confine returns a command that runs confined to a session.
func (s *Sandbox) Confine(session Session, c process.Command) (process.Command, error) {
	if !s.isActive() || len(c.Args) == 0 {
		return c, nil
	}
	program, err := exec.LookPath(c.Args[0])
	if err != nil {
		return c, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return c, err
	}
	tmp := filepath.Join(session.Home, temporary)
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return c, fmt.Errorf("sandbox: %w", err)
	}
	if session.User != nil {
		if err := os.Lchown(tmp, session.User.UID, session.User.GID); err != nil {
			return c, fmt.Errorf("sandbox: %w", err)
		}
	}
	args := slices.Concat([]string{program}, c.Args[1:])
	c.Env = slices.Concat(c.Env, []string{"TMPDIR=" + tmp, "TMP=" + tmp, "TEMP=" + tmp})
	path := cmp.Or(lookup(c.Env, "PATH"), os.Getenv("PATH"))
	spec := s.spec(session, args, path)
	if s.groups != nil {
		if spec.Group, err = s.groups.add(cmp.Or(session.Name, alone)); err != nil {
			return c, fmt.Errorf("sandbox: %w", err)
		}
		c.Group = spec.Group
	}
	c.Args, err = spec.CommandLine(s.options.Self, args)
	return c, err
}

// alone is the name of the group of programs without a session.
const alone = ".none"

// ConfineAlone returns a command that runs confined without a session and a network, and can write into
// the directory home, which is given to its user.
func (s *Sandbox) ConfineAlone(home string, read []string, c process.Command) (process.Command, error) {
	session := Session{Home: home, Read: read, User: s.SharedUser(), Network: NetworkNone}
	if session.User != nil && s.isActive() {
		if err := os.Lchown(home, session.User.UID, session.User.GID); err != nil {
			return c, fmt.Errorf("sandbox: %w", err)
		}
	}
	return s.Confine(session, c)
}

// spec returns what a command of a session may use.
func (s *Sandbox) spec(session Session, args []string, path string) launch.Spec {
	spec := launch.Spec{
		Write: slices.Concat(session.Write, s.options.Write), Namespaces: s.namespaces,
		User:        session.User,
		Processes:   cmp.Or(s.options.Processes, defaultProcesses),
		UnixSockets: s.namespaces || launch.LandlockVersion() >= unixSocketVersion,
	}
	if s.NetworkFor(session.Network) != NetworkOpen {
		spec.Network, spec.Bridges, spec.Serves = true, session.Bridges, session.Serves
	}
	if session.Home != "" {
		spec.Write = append(spec.Write, session.Home)
		spec.Private = filepath.Join(session.Home, temporary)
	}
	spec.Read = slices.Concat(session.Read, s.options.Read, toolPaths(path, s.home), programPaths(args, s.home))
	if s.options.Programs != "" {
		spec.Read = append(spec.Read, s.options.Programs)
	}
	slices.Sort(spec.Read)
	spec.Read = slices.Compact(spec.Read)
	return spec
}

const defaultProcesses = 4096

// unixSocketVersion is the first version of Landlock that guards sockets with paths.
const unixSocketVersion = 9

// lookup returns the last value of a variable: the one that counts.
func lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
