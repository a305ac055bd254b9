package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
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

// Bridge makes a port of a program's own loopback lead to a socket outside. The launcher,
// which is outside, forwards the bytes: no program inside can stop or replace it.
type Bridge struct {
	Port  int    `json:"port"`
	To    string `json:"to"`              // absolute path of a socket, or the HOST:PORT of a TCP listener
	Hello string `json:"hello,omitempty"` // line that the socket receives first
}

// MaxBridges bounds the bridges of a session.
const MaxBridges = 64

// ListenSocket listens on a socket with a path, which may be longer than the kernel's limit
// for socket names.
func ListenSocket(path string) (net.Listener, error) {
	dir, name, err := socketName(path)
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

// dialBridge connects to the target of a bridge.
func dialBridge(b Bridge) (net.Conn, error) {
	if !filepath.IsAbs(b.To) {
		return net.Dial("tcp", b.To) //nolint:noctx // loopback: it does not wait
	}
	dir, name, err := socketName(b.To)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	conn, err := net.Dial("unix", name) //nolint:noctx // as above
	if err != nil || b.Hello == "" {
		return conn, err
	}
	if _, err := conn.Write([]byte(b.Hello + "\n")); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
