package launch

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"bellhop/internal/owner"
)

// The hidden commands of the binary. The tests' binaries have them too.
const (
	Command     = "sandbox-exec" // the launcher
	initCommand = "sandbox-init"
)

// Spec is what one program may use. The launcher gets it as JSON in its arguments, so it holds no secret; the init, whose
// arguments the program sees, gets it through a pipe. Paths are absolute; missing ones are ignored.
type Spec struct {
	Write []string `json:"write"` // files and directories that can be changed
	Read  []string `json:"read"`  // files and directories that can be read and executed

	// Namespaces gives the program a file system, processes and shared memory of its
	// own. Private is then its /tmp, and Processes the limit of its processes.
	Namespaces bool   `json:"namespaces,omitempty"`
	Private    string `json:"private,omitempty"`
	Processes  int    `json:"processes,omitempty"`

	// Network gives the program a network of its own, which also needs Namespaces. Bridges
	// lead out of it, and Serves are ports of the program that can be reached on the
	// machine's own loopback.
	Network bool     `json:"network,omitempty"`
	Bridges []Bridge `json:"bridges,omitempty"`
	Serves  []int    `json:"serves,omitempty"`

	// NoSockets keeps the program from making any socket.
	NoSockets bool `json:"noSockets,omitempty"`

	// NoChanges keeps the program from changing modes, owners, times, attributes and lengths of files, which Landlock
	// does not guard.
	NoChanges bool `json:"noChanges,omitempty"`

	// User is the user id that the program gets instead of the launcher's, which must be root.
	// Mapped lists other owners, whose files the program sees as its own if it may change them,
	// or could not read them.
	User   *owner.ID  `json:"user,omitempty"`
	Mapped []owner.ID `json:"mapped,omitempty"`

	// Group is the control group that the launcher joins; "" = none.
	Group string `json:"group,omitempty"`

	// UnixSockets allows sockets with a path. It is set if namespaces or Landlock keep the
	// program from such sockets outside the sandbox.
	UnixSockets bool `json:"unixSockets,omitempty"`
}

// CommandLine returns the arguments that start a program through the launcher self.
func (s Spec) CommandLine(self string, args []string) ([]string, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return slices.Concat([]string{self, Command, string(encoded), "--"}, args), nil
}

// parseCommandLine is the reverse of CommandLine; args begin with the launcher's command.
func parseCommandLine(args []string) (spec Spec, program []string, err error) {
	if len(args) < 4 || args[2] != "--" || !path.IsAbs(args[3]) {
		return spec, nil, fmt.Errorf("usage: %s SPEC -- /PROGRAM [ARGUMENT…]", Command)
	}
	spec, err = parseSpec(args[1])
	return spec, args[3:], err
}

func parseSpec(encoded string) (spec Spec, err error) {
	decoder := json.NewDecoder(strings.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return spec, fmt.Errorf("%s: %w", Command, err)
	}
	return spec, nil
}

// init runs the launcher or the program's init if this process was started as one.
func init() {
	if len(os.Args) < 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case Command:
		err = launch(os.Args[1:])
	case initCommand:
		err = runInit()
	default:
		return
	}
	Exit(err)
}

// Exit ends this process: with an error it prints that, and the code is Failed.
func Exit(err error) {
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bellhop:", err)
		ExitNow(Failed)
	}
	ExitNow(0)
}

// ExitNow ends this process at once. Under the race detector os.Exit would wait for one
// second in each of the two or three processes that start a program.
func ExitNow(code int) { syscall.Exit(code) }

// Failed is the exit code of a launcher that could not start its program.
const Failed = 126

// Bridge makes a port of a program's own loopback lead to a socket outside. The launcher,
// which is outside, forwards the bytes: no program inside can stop or replace it.
type Bridge struct {
	Port  int    `json:"port"`
	To    string `json:"to"`              // absolute path of a socket, or 127.0.0.1:PORT of a TCP listener
	Hello string `json:"hello,omitempty"` // line that a socket with a path receives first
}

// MaxBridges bounds the bridges of a session.
const MaxBridges = 64

// CanUse reports whether the mode of a file lets a user read it, or also change it.
func CanUse(info fs.FileInfo, id owner.ID, write bool) bool {
	at, mode := owner.Of(info), info.Mode().Perm()
	switch {
	case at.UID == id.UID:
		mode >>= 6
	case at.GID == id.GID:
		mode >>= 3
	}
	wanted := fs.FileMode(0o4)
	if info.IsDir() {
		wanted |= 0o1
	}
	if write {
		wanted |= 0o2
	}
	return mode&wanted == wanted
}
