package sandbox

import (
	"net"
	"os"

	"bellhop/agenthost/sandbox/launch"
)

// The hidden commands of the binary that a host runs when it starts. The tests' binaries have them too. Those that
// start every program belong to the package launch.
const (
	probeCommand = "sandbox-probe"
	groupCommand = "sandbox-group"
)

func init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case groupCommand:
		launch.Exit(tryJoin(os.Args[2:]))
	case probeCommand:
		launch.Exit(probe(os.Args[2:]))
	}
}

// canRead reports whether a file can be opened for reading. The kernel checks the right to
// read another process's memory at that moment, so nothing need be read.
func canRead(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

func canWrite(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

func canConnect(network, address string) bool {
	conn, err := net.Dial(network, address) //nolint:noctx // local, or UDP: it never waits
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
