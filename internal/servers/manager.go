package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrClosed is the error of a closed Manager.
var ErrClosed = errors.New("the server manager is closed")

// Manager keeps one server per key. It is safe for concurrent use.
type Manager struct {
	options Options

	mu     sync.Mutex
	keys   map[string]*key
	memory memory
	closed bool
	watch  sync.WaitGroup // goroutines that wait for the exit of a server

	calls       sync.Mutex // serialises the callbacks; guards the fields below
	subscribers map[int]Callbacks
	next        int
}

// key is the state of one key.
type key struct {
	busy   chan struct{} // capacity 1: held while a server is started or stopped
	server *Server       // guarded by Manager.mu
	port   int           // of the last server, for Restart
}

// New returns a Manager without servers.
func New(options Options) *Manager {
	options.defaults()
	m := &Manager{options: options, keys: map[string]*key{}, subscribers: map[int]Callbacks{}}
	m.memory = memory{file: options.Memory}
	if err := m.memory.read(); err != nil {
		options.Log.Warn("the ports of earlier servers are not known", "error", err)
	}
	return m
}

// Subscribe registers callbacks for servers that start or stop from now on.
func (m *Manager) Subscribe(c Callbacks) (unsubscribe func()) {
	m.calls.Lock()
	defer m.calls.Unlock()
	id := m.next
	m.next++
	m.subscribers[id] = c
	return func() {
		m.calls.Lock()
		defer m.calls.Unlock()
		delete(m.subscribers, id)
	}
}

// Start returns the key's server and starts it if none runs. Concurrent calls get the same
// server. A server that lost its port to another program is replaced.
func (m *Manager) Start(ctx context.Context, spec Spec) (*Server, error) {
	k, err := m.lock(ctx, spec.Key)
	if err != nil {
		return nil, err
	}
	defer m.unlock(k)
	if s := m.running(k); s != nil {
		err := m.options.Ports.Verify(s.info.Port, s.owner)
		if err == nil {
			return s, nil
		}
		m.options.Log.Warn("a server has lost its port", "key", spec.Key, "port", s.info.Port, "error", err)
		if err := m.stop(ctx, s); err != nil {
			return nil, err
		}
	}
	m.waitExitNotified(k)
	return m.start(ctx, k, spec, 0)
}

// waitExitNotified waits until the subscribers were notified that the previous server ended.
// Otherwise they might see its successor's start first.
func (m *Manager) waitExitNotified(k *key) {
	m.mu.Lock()
	s := k.server
	m.mu.Unlock()
	if s != nil {
		<-s.exitNotified
	}
}

// Restart stops the key's server, if it runs, and starts it with spec on the same port, or on
// another port if a program outside has taken that.
func (m *Manager) Restart(ctx context.Context, spec Spec) (*Server, error) {
	k, err := m.lock(ctx, spec.Key)
	if err != nil {
		return nil, err
	}
	defer m.unlock(k)
	m.mu.Lock()
	s := k.server
	m.mu.Unlock()
	if s != nil {
		if err := m.stop(ctx, s); err != nil {
			return nil, err
		}
	}
	return m.start(ctx, k, spec, k.port)
}

// Get returns the key's server if it runs.
func (m *Manager) Get(name string) (*Server, bool) {
	m.mu.Lock()
	k := m.keys[name]
	m.mu.Unlock()
	if k == nil {
		return nil, false
	}
	s := m.running(k)
	return s, s != nil
}

// List returns the running servers, sorted by key.
func (m *Manager) List() []Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Info
	for _, k := range m.keys {
		if k.server != nil {
			list = append(list, k.server.info)
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Stop stops the key's server; it is no error if none runs. When ctx ends the server is killed
// at once. Stop returns after the subscribers were notified.
func (m *Manager) Stop(ctx context.Context, name string) error {
	m.mu.Lock()
	k := m.keys[name]
	m.mu.Unlock()
	if k == nil {
		return nil
	}
	// A start in progress must finish first, otherwise its process would be left behind.
	k.busy <- struct{}{}
	defer m.unlock(k)
	m.mu.Lock()
	s := k.server
	m.mu.Unlock()
	if s == nil {
		return nil
	}
	return m.stop(ctx, s)
}

// Close stops every server and prevents further starts.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	names := make([]string, 0, len(m.keys))
	for name := range m.keys {
		names = append(names, name)
	}
	m.mu.Unlock()
	err := m.each(ctx, names)
	m.watch.Wait()
	return err
}

func (m *Manager) each(ctx context.Context, names []string) error {
	failures := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { failures[i] = m.Stop(ctx, name) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// lock waits until no other call starts or stops the key's server.
func (m *Manager) lock(ctx context.Context, name string) (*key, error) {
	m.mu.Lock()
	k := m.keys[name]
	if k == nil {
		k = &key{busy: make(chan struct{}, 1), port: m.memory.port(name)}
		m.keys[name] = k
	}
	m.mu.Unlock()
	select {
	case k.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		m.unlock(k)
		return nil, ErrClosed
	}
	return k, nil
}

func (m *Manager) unlock(k *key) { <-k.busy }

// running returns the key's server unless it has ended.
func (m *Manager) running(k *key) *Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k.server == nil {
		return nil
	}
	select {
	case <-k.server.done:
		return nil
	default:
		return k.server
	}
}

func (m *Manager) stop(ctx context.Context, s *Server) error {
	s.wanted.Store(true)
	if err := s.process.Stop(ctx, m.options.Grace); err != nil {
		return fmt.Errorf("stop the server of %s: %w", s.info.Key, err)
	}
	<-s.exitNotified
	return nil
}
