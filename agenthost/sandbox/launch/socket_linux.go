package launch

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is a stream's connection or its listener. It stands in for package net, whose import would delay the launcher
// until most other packages are initialized: see the documentation of this package.
type socket struct {
	*os.File
	raw syscall.RawConn
}

// newSocket takes a descriptor over, and closes it if that fails.
func newSocket(fd int) (*socket, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // the runtime then waits for all sockets at once
		_ = unix.Close(fd)
		return nil, err
	}
	// What is written must leave at once, as with net. Sockets with a path do not know the option.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	file := os.NewFile(uintptr(fd), "socket")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &socket{file, raw}, nil
}

func dial(family int, to unix.Sockaddr) (*socket, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return connect(fd, to)
}

// connect connects a blocking socket to a listener of this machine, and takes its descriptor over.
func connect(fd int, to unix.Sockaddr) (*socket, error) {
	if err := unix.Connect(fd, to); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return newSocket(fd)
}

// accept waits for a connection.
func (s *socket) accept() (*socket, error) {
	var fd int
	var err error
	waitErr := s.raw.Read(func(listener uintptr) bool {
		for {
			fd, _, err = unix.Accept4(int(listener), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNABORTED) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if err := errors.Join(waitErr, err); err != nil {
		return nil, err
	}
	return newSocket(fd)
}

// copyTo copies until the end of the stream.
func (s *socket) copyTo(to *socket) error {
	// Without its other methods: a file would first try to copy as files do.
	_, err := io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{s})
	return err
}

// closeWrite ends the stream to the peer, which can still write.
func (s *socket) closeWrite() {
	_ = s.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
}
