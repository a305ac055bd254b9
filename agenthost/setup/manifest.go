package setup

import (
	"slices"
	"strings"
)

// Agent is the set-up info of an agent program.
type Agent struct {
	Name    string // id of the agent, and name of its folder in the cache
	Title   string // for people
	Version string // what this version of the host was tested with
	Package string // npm package that people install by hand
	Program string // its name on the PATH; "" = it is not looked for there
	Node    int    // least major version of Node.js that runs it; 0 = none needed

	// Baseline: x64 machines without AVX2 need builds of their own.
	Baseline bool

	// Artifacts are the packages to unpack, by platform ("linux-x64", with
	// "-baseline" and "-musl" behind; AnyPlatform for plain JavaScript). A
	// platform that is not here cannot be installed for, only found on the PATH.
	Artifacts map[string]Artifact

	// Locked names a folder of lock/ whose package-lock.json npm installs from,
	// for programs with dependencies: every one is pinned by checksum there.
	Locked string
	Main   string // of a locked one: the script, below its folder
}

// Artifact is one npm package.
type Artifact struct {
	Package   string
	Version   string
	Integrity string // as npm writes it: sha512-<base64>
	Path      string // of the program, below the package's folder
}

// AnyPlatform is the key of an artifact that runs everywhere.
const AnyPlatform = "any"

// Manifest lists the known agents by name.
func Manifest() []Agent { return slices.Clone(manifest) }

// Names of the agents of a manifest, for messages.
func Names(agents []Agent) string {
	names := make([]string, 0, len(agents))
	for i := range agents {
		names = append(names, agents[i].Name)
	}
	return strings.Join(names, ", ")
}
