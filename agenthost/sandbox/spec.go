package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bellhop/internal/owner"
)

// The hidden commands of the binary. The tests' binaries have them too.
const (
	launchCommand = "sandbox-exec"
	initCommand   = "sandbox-init"
	probeCommand  = "sandbox-probe"
	groupCommand  = "sandbox-group"
)

// Spec is what one program may use. The launcher gets it as JSON in its arguments,
// so it holds no secret. Paths are absolute; missing ones are ignored.
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

// commandLine returns the arguments that start a program through the launcher self.
func (s Spec) commandLine(self string, args []string) ([]string, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return slices.Concat([]string{self, launchCommand, string(encoded), "--"}, args), nil
}

// parseCommandLine is the reverse of commandLine; args begin with the launcher's command.
func parseCommandLine(args []string) (spec Spec, program []string, err error) {
	if len(args) < 4 || args[2] != "--" || !filepath.IsAbs(args[3]) {
		return spec, nil, fmt.Errorf("usage: %s SPEC -- /PROGRAM [ARGUMENT…]", launchCommand)
	}
	decoder := json.NewDecoder(strings.NewReader(args[1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return spec, nil, fmt.Errorf("%s: %w", launchCommand, err)
	}
	return spec, args[3:], nil
}

// init runs the launcher or the probe if this process was started as one.
func init() {
	if len(os.Args) < 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case launchCommand:
		err = launch(os.Args[1:])
	case initCommand:
		err = runInit(os.Args[1:])
	case groupCommand:
		err = tryJoin(os.Args[2:])
	case probeCommand:
		err = probe(os.Args[2:])
	default:
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bellhop:", err)
		exitNow(launchFailed)
	}
	exitNow(0)
}

// exitNow ends this process at once. Under the race detector os.Exit would wait for one
// second in each of the two or three processes that start a program.
func exitNow(code int) { syscall.Exit(code) }

// launchFailed is the exit code of a launcher that could not start its program.
const launchFailed = 126
