package setup

import "strings"

// Agent describes how to install and find an agent program.
type Agent struct {
	Name    string // id of the agent, and name of its directory in the cache
	Title   string // for messages to users
	Version string // the version that this host was tested with
	Package string // npm package for an installation by hand
	Program string // its name on PATH; "" = do not search there
	Node    int    // minimum major version of Node.js; 0 = Node.js is not needed

	// Baseline means that x64 machines without AVX2 need a separate build.
	Baseline bool

	// Artifacts are the packages to unpack, by platform: "linux-x64", with the
	// suffixes "-baseline" and "-musl", or AnyPlatform for plain JavaScript. On
	// other platforms the program can only be found on PATH.
	Artifacts map[string]Artifact

	// Locked names a directory of lock/ for a program with dependencies. Its
	// package-lock.json pins each dependency by checksum; npm installs them.
	Locked string
	Main   string // path of the script if Locked is set, below the program's directory
}

// Artifact is one npm package.
type Artifact struct {
	Package   string
	Version   string
	Integrity string // as npm writes it: sha512-<base64>
	Path      string // path of the program in the package
}

// AnyPlatform is the key of an artifact that runs on every platform.
const AnyPlatform = "any"

// Names joins the names of agents for messages.
func Names(agents []Agent) string {
	names := make([]string, 0, len(agents))
	for i := range agents {
		names = append(names, agents[i].Name)
	}
	return strings.Join(names, ", ")
}
