package sandbox

import (
	"fmt"
	"net"
	"os"

	"bellhop/agenthost/sandbox/launch"
)

// Network says what programs reach beyond their own loopback.
type Network string

// Levels of the network. All but NetworkOpen need namespaces.
const (
	NetworkOpen  Network = "open"  // all that the machine reaches
	NetworkProxy Network = "proxy" // only the sockets that a session's bridges name
	NetworkNone  Network = "none"  // only the host itself, which bridges name too
)

// Networks are all levels.
var Networks = []Network{NetworkOpen, NetworkProxy, NetworkNone}

// Bridge makes a port of a program's own loopback lead to a socket outside.
type Bridge = launch.Bridge

// MaxBridges bounds the bridges of a session.
const MaxBridges = launch.MaxBridges

// ListenSocket listens on a socket with a path, which may be longer than the kernel's limit
// for socket names.
func ListenSocket(path string) (net.Listener, error) {
	dir, name, err := launch.SocketName(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", name) //nolint:noctx // it does not wait
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // its short name is gone by then
	return listener, os.Chmod(path, 0o600)
}
