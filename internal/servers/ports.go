package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// loopback is the only address that servers listen on.
const loopback = "127.0.0.1"

// handOuts bounds the search for a free port.
const handOuts = 64

// Owner identifies a process even if its pid is reused later.
type Owner struct {
	Pid   int
	Start uint64 // in clock ticks since boot; 0 where the system does not provide it
}

// Ports assigns loopback ports. A port is held until Release, so that two servers that start at
// the same time get different ones. A program outside can still take a port before its holder
// listens.
type Ports struct {
	mu   sync.Mutex
	held map[int]bool
}

// NewPorts returns a Ports that holds no port.
func NewPorts() *Ports { return &Ports{held: map[int]bool{}} }

// Take returns a port that is free now.
func (p *Ports) Take(ctx context.Context) (int, error) {
	for range handOuts {
		port, err := listen(ctx, 0)
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if p.hold(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: %d tries gave ports that are held", handOuts)
}

// Retake takes a certain port again; false means that it is in use.
func (p *Ports) Retake(ctx context.Context, port int) bool {
	if port <= 0 || !p.hold(port) {
		return false
	}
	if _, err := listen(ctx, port); err != nil {
		p.Release(port)
		return false
	}
	return true
}

// Free reports whether the port is free.
func (p *Ports) Free(ctx context.Context, port int) bool {
	_, err := listen(ctx, port)
	return err == nil
}

// Release makes a port available again.
func (p *Ports) Release(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, port)
}

func (p *Ports) hold(port int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[port] {
		return false
	}
	p.held[port] = true
	return true
}

// Verify returns an error if the process has ended, or if another program listens on its port.
// A listener in the server's process group counts as the server. Where the system does not
// report listeners, a running process is enough.
func (p *Ports) Verify(port int, server Owner) error {
	if now, err := identify(server.Pid); err != nil || now.Start != server.Start {
		return fmt.Errorf("process %d is gone", server.Pid)
	}
	other, listening, known := listener(port, server.Pid)
	switch {
	case !known:
		return nil
	case !listening:
		return fmt.Errorf("no process listens on port %d", port)
	case other.Pid != server.Pid:
		return &takenError{port: port, owner: other}
	}
	return nil
}

// takenError means that a program outside listens on the port.
type takenError struct {
	port  int
	owner Owner // Pid 0 = unknown
}

func (e *takenError) Error() string {
	if e.owner.Pid == 0 {
		return fmt.Sprintf("port %d belongs to another program", e.port)
	}
	return fmt.Sprintf("port %d belongs to process %d", e.port, e.owner.Pid)
}

// listen checks whether it can listen on the port (0 = any free port) and returns the port.
func listen(ctx context.Context, port int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
