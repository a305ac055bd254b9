package servers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// start tries ports, first prefer (if not 0), until the server is healthy. The caller holds the
// key.
func (m *Manager) start(ctx context.Context, k *key, spec Spec, prefer int) (*Server, error) {
	limit, cancel := context.WithTimeout(ctx, m.options.StartTimeout)
	defer cancel()
	var failure error
	for try := range m.options.Tries {
		port := prefer
		if try > 0 || !m.options.Ports.Retake(limit, port) {
			var err error
			if port, err = m.options.Ports.Take(limit); err != nil {
				return nil, err
			}
		}
		s, err := m.attempt(limit, spec, port)
		if err == nil {
			m.began(k, s)
			return s, nil
		}
		taken := m.taken(limit, spec, port, err)
		m.options.Ports.Release(port)
		failure = fmt.Errorf("start the server of %s: %w", spec.Key, err)
		if !taken || limit.Err() != nil {
			break
		}
		m.options.Log.Warn("a port was taken, trying another", "key", spec.Key, "port", port)
	}
	return nil, failure
}

// attempt starts the server on a port. If it fails, no process is left running.
func (m *Manager) attempt(ctx context.Context, spec Spec, port int) (*Server, error) {
	s, err := launch(spec, port)
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, &m.options); err != nil {
		grace := min(m.options.Grace, time.Second)
		_ = s.process.Stop(context.WithoutCancel(ctx), grace) // only the failure to start is reported
		<-s.done
		return nil, &startError{err: err, lines: s.process.Tail()}
	}
	return s, nil
}

// startError also has the output that PortTaken needs.
type startError struct {
	err   error
	lines []string
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// taken reports whether an attempt failed because its port was in use.
func (m *Manager) taken(ctx context.Context, spec Spec, port int, err error) bool {
	var outside *takenError
	var failed *startError
	switch {
	case errors.As(err, &outside):
		return true
	case !errors.As(err, &failed): // the program does not exist
		return false
	case spec.PortTaken != nil && errors.Is(err, errEnded) && spec.PortTaken(failed.lines):
		return true
	}
	return !m.options.Ports.Free(context.WithoutCancel(ctx), port)
}

// began stores a healthy server under its key, notifies the subscribers and waits for its end
// in the background.
func (m *Manager) began(k *key, s *Server) {
	m.mu.Lock()
	k.server, k.port = s, s.info.Port
	err := m.memory.remember(s.info.Key, s.info.Port)
	m.mu.Unlock()
	if err != nil {
		m.options.Log.Warn("a server's port is not remembered", "key", s.info.Key, "error", err)
	}
	m.options.Log.Info("server started", "key", s.info.Key, "port", s.info.Port, "pid", s.info.Pid)
	m.notify(func(c Callbacks) {
		if c.Started != nil {
			c.Started(s.info)
		}
	})
	m.watch.Go(func() { m.ended(k, s) })
}

func (m *Manager) ended(k *key, s *Server) {
	exit := s.Exit()
	m.mu.Lock()
	if k.server == s {
		k.server = nil
	}
	m.mu.Unlock()
	m.options.Ports.Release(s.info.Port)
	if !exit.Wanted {
		m.options.Log.Warn("a server ended by itself", "key", s.info.Key, "pid", s.info.Pid, "error", exit.Err)
	}
	m.notify(func(c Callbacks) {
		if c.Stopped != nil {
			c.Stopped(s.info, exit)
		}
	})
	close(s.exitNotified)
}

func (m *Manager) notify(what func(Callbacks)) {
	m.calls.Lock()
	defer m.calls.Unlock()
	for id := range m.next {
		if c, ok := m.subscribers[id]; ok {
			what(c)
		}
	}
}
