package launch

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// SocketName returns a short name of a socket in an open directory: the kernel limits
// names to 107 bytes, but not the path behind a descriptor.
func SocketName(socket string) (dir *os.File, name string, err error) {
	if dir, err = os.Open(path.Dir(socket)); err != nil {
		return nil, "", err
	}
	return dir, "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + path.Base(socket), nil
}

// control is the socket over which the init sends sockets of its namespace to the launcher.
// A socket stays in the namespace in which it was made, whichever process uses it.
type control struct {
	mu   sync.Mutex
	conn int // the launcher's end
	init *os.File

	serves []*socket // outside, for the ports that the program serves
}

// The descriptors of the init beside its streams: the pipe with its spec, which it closes before it uses another one,
// and its end of the control socket. Those of maps follow.
const (
	initSpec    = 3
	initControl = 4
)

// newControl makes the socket. It also listens, outside the namespace, on the ports that the
// program will serve.
func newControl(spec Spec) (*control, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	c := &control{conn: pair[0], init: os.NewFile(uintptr(pair[1]), "control")}
	for _, port := range spec.Serves {
		listener, err := listenOutside(port)
		if err != nil {
			return nil, fmt.Errorf("network: EADDRINUSE: %w", err) // as Node.js names it, for callers that try another port
		}
		c.serves = append(c.serves, listener)
	}
	return c, nil
}

// run connects the namespace with the outside until this process exits. Without the init's
// sockets there is nothing to connect: the init reports its own failure.
func (c *control) run(spec Spec) {
	_ = c.init.Close()
	if len(spec.Bridges) > 0 {
		sockets, err := c.receive()
		if err != nil || len(sockets) != len(spec.Bridges) {
			return
		}
		for i, fd := range sockets {
			listener, err := newSocket(fd)
			if err != nil {
				return
			}
			go forward(listener, func() (*socket, error) { return dialBridge(spec.Bridges[i]) })
		}
	}
	for i, listener := range c.serves {
		go forward(listener, func() (*socket, error) { return c.dialInside(spec.Serves[i]) })
	}
}

// receive returns the sockets of one message of the init.
func (c *control) receive() ([]int, error) {
	buffer, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*MaxBridges))
	_, n, _, _, err := unix.Recvmsg(c.conn, buffer, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("no sockets"))
	}
	return unix.ParseUnixRights(&messages[0])
}

// dialInside connects to a port of the namespace's loopback, with a socket of the init.
func (c *control) dialInside(port int) (*socket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := unix.Write(c.conn, []byte{1}); err != nil {
		return nil, err
	}
	sockets, err := c.receive()
	if err != nil {
		return nil, err
	}
	return connect(sockets[0], &unix.SockaddrInet4{Port: port, Addr: loopbackAddress})
}

var loopbackAddress = [4]byte{127, 0, 0, 1}

// acceptPause is the time until the next attempt when no connection can be accepted, such
// as without free descriptors.
const acceptPause = 50 * time.Millisecond

// forward connects each connection of a listener with one that dial makes, until the listener
// is closed.
func forward(listener *socket, dial func() (*socket, error)) {
	for {
		conn, err := listener.accept()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			time.Sleep(acceptPause)
			continue
		}
		go func() {
			defer conn.Close()
			other, err := dial()
			if err != nil {
				return
			}
			defer other.Close()
			var both sync.WaitGroup
			both.Go(func() { copyStream(other, conn) })
			both.Go(func() { copyStream(conn, other) })
			both.Wait()
		}()
	}
}

// copyStream copies until the end of from, then closes the writing half of to. After a failure
// it closes both connections, so that the copy in the other direction ends too.
func copyStream(to, from *socket) {
	if err := from.copyTo(to); err != nil {
		_, _ = to.Close(), from.Close()
		return
	}
	to.closeWrite()
}

// listenOutside listens on a port of the machine's own loopback.
func listenOutside(port int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: loopbackAddress})
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen on 127.0.0.1:%d: %w", port, err)
	}
	return newSocket(fd)
}

// backlog is how many connections wait to be accepted; the kernel lowers it to its own limit.
const backlog = 4096

// dialBridge connects to the target of a bridge.
func dialBridge(b Bridge) (*socket, error) {
	if !path.IsAbs(b.To) {
		address, err := parseLoopback(b.To)
		if err != nil {
			return nil, err
		}
		return dial(unix.AF_INET, address)
	}
	dir, name, err := SocketName(b.To)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	conn, err := dial(unix.AF_UNIX, &unix.SockaddrUnix{Name: name})
	if err != nil || b.Hello == "" {
		return conn, err
	}
	if _, err := conn.Write([]byte(b.Hello + "\n")); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// parseLoopback reads the address of a TCP listener on this machine.
func parseLoopback(address string) (unix.Sockaddr, error) {
	port, ok := strings.CutPrefix(address, "127.0.0.1:")
	number, err := strconv.ParseUint(port, 10, 16)
	if !ok || err != nil {
		return nil, fmt.Errorf("a bridge leads to %q, which is no port of 127.0.0.1", address)
	}
	return &unix.SockaddrInet4{Port: int(number), Addr: loopbackAddress}, nil //nolint:gosec // has 16 bits
}

// makeNetwork starts the loopback of the namespace and sends the launcher a listener for
// each bridge.
func makeNetwork(spec Spec) error {
	unix.CloseOnExec(initControl)
	if err := startLoopback(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if len(spec.Bridges) == 0 {
		return nil
	}
	var sockets []int
	for _, bridge := range spec.Bridges {
		socket, err := listenInside(bridge.Port)
		if err != nil {
			return fmt.Errorf("network: listen on port %d inside: %w", bridge.Port, err)
		}
		sockets = append(sockets, socket)
	}
	return sendToLauncher(sockets)
}

func startLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func listenInside(port int) (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Port: port, Addr: loopbackAddress}); err != nil {
		return 0, err
	}
	return socket, unix.Listen(socket, unix.SOMAXCONN)
}

// sendToLauncher sends sockets to the launcher and closes the init's copies.
func sendToLauncher(sockets []int) error {
	err := unix.Sendmsg(initControl, []byte{1}, unix.UnixRights(sockets...), nil, 0)
	for _, socket := range sockets {
		_ = unix.Close(socket)
	}
	return err
}

// answerLauncher sends the launcher a new socket for each of its requests.
func answerLauncher() {
	request := make([]byte, 1)
	for {
		n, err := unix.Read(initControl, request)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil || sendToLauncher([]int{socket}) != nil {
			return
		}
	}
}
