package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// loopback is the only address servers listen on.
const loopback = "127.0.0.1"

// handOuts bounds the search for a port that nobody has.
const handOuts = 64

// Owner is a process as it cannot be mistaken for a later one with its pid.
type Owner struct {
	Pid   int
	Start uint64 // in clock ticks since boot; 0 where the system does not tell
}

// Ports hands out ports of the loopback. A port stays with its holder until
// Release, so that two servers which start at once do not get the same one; a
// program outside can still take it before the holder listens there.
type Ports struct {
	mu   sync.Mutex
	held map[int]bool
}

// NewPorts makes a Ports that has handed out nothing.
func NewPorts() *Ports { return &Ports{held: map[int]bool{}} }

// Take returns a port on which nobody listens now.
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

// Retake takes that very port; false means that somebody has it.
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

// Free reports whether nobody listens on the port.
func (p *Ports) Free(ctx context.Context, port int) bool {
	_, err := listen(ctx, port)
	return err == nil
}

// Release gives a port back.
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

// Verify returns an error if the process is gone, or if another program listens
// on its port. A server whose listener is a child in its process group counts as
// the owner. Where the system does not tell who listens, being alive is enough.
func (p *Ports) Verify(port int, server Owner) error {
	if now, err := identify(server.Pid); err != nil || now.Start != server.Start {
		return fmt.Errorf("process %d is gone", server.Pid)
	}
	other, listening, known := listener(port, server.Pid)
	switch {
	case !known:
		return nil
	case !listening:
		return fmt.Errorf("nobody listens on port %d", port)
	case other.Pid != server.Pid:
		return &takenError{port: port, owner: other}
	}
	return nil
}

// takenError says that a program outside has the port.
type takenError struct {
	port  int
	owner Owner // Pid 0: not known
}

func (e *takenError) Error() string {
	if e.owner.Pid == 0 {
		return fmt.Sprintf("port %d belongs to another program", e.port)
	}
	return fmt.Sprintf("port %d belongs to process %d", e.port, e.owner.Pid)
}

// listen finds out whether the port can be had, 0 for any, and which it is.
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
