package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrClosed is what a closed Manager answers.
var ErrClosed = errors.New("the server manager is closed")

// Manager keeps one server for each key. All methods may be called at once.
type Manager struct {
	options Options

	mu     sync.Mutex
	keys   map[string]*key
	closed bool
	watch  sync.WaitGroup // goroutines that wait for the end of a server

	calls       sync.Mutex // callbacks are told one after the other
	subscribers map[int]Callbacks
	next        int
}

// key is what happens to one key, one thing at a time.
type key struct {
	busy   chan struct{} // capacity 1: held by whoever starts or stops
	server *Server       // under Manager.mu
	port   int           // of the last server, for Restart
}

// New makes a Manager that runs nothing.
func New(options Options) *Manager {
	options.defaults()
	return &Manager{options: options, keys: map[string]*key{}, subscribers: map[int]Callbacks{}}
}

// Subscribe tells of every server from now on; the function returned ends that.
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

// Start returns the key's server, started if none runs. Calls at the same time
// get the same one. A server whose port belongs to another program by now is
// replaced.
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
	m.mourn(k)
	return m.start(ctx, k, spec, 0)
}

// mourn waits until the subscribers know of a server that died by itself: they
// would hear of its successor first.
func (m *Manager) mourn(k *key) {
	m.mu.Lock()
	s := k.server
	m.mu.Unlock()
	if s != nil {
		<-s.told
	}
}

// Restart stops the key's server, if it runs, and starts it on the port it had,
// or on another if a program outside has taken that. The spec is of its Start.
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

// Get returns the key's server while it runs.
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

// List returns the servers that run, by key.
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

// Stop ends the key's server; none is no error. When ctx ends it is killed at
// once. It returns when the subscribers know.
func (m *Manager) Stop(ctx context.Context, name string) error {
	m.mu.Lock()
	k := m.keys[name]
	m.mu.Unlock()
	if k == nil {
		return nil
	}
	// Whoever starts the server is let finish: its process would be left behind.
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

// StopAllForProject ends the project's servers, all at the same time.
func (m *Manager) StopAllForProject(ctx context.Context, project string) error {
	return m.stopAll(ctx, func(i Info) bool { return i.Project == project })
}

// Close ends every server; no other is started after it.
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

func (m *Manager) stopAll(ctx context.Context, which func(Info) bool) error {
	var names []string
	for _, info := range m.List() {
		if which(info) {
			names = append(names, info.Key)
		}
	}
	return m.each(ctx, names)
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

// lock waits for its turn at a key.
func (m *Manager) lock(ctx context.Context, name string) (*key, error) {
	m.mu.Lock()
	k := m.keys[name]
	if k == nil {
		k = &key{busy: make(chan struct{}, 1)}
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

// running is the key's server unless it has ended.
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
	<-s.told
	return nil
}
