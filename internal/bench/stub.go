package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"bellhop/protocol"
)

// stub is the other end of a link when it is not what is measured: a host that
// opens every session, and a broker that takes every event.
type stub struct {
	url    string
	server *http.Server
	done   chan error

	mu       sync.Mutex
	webhooks map[string]string // of the sessions, by id
}

func startStub(ctx context.Context) (*stub, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stub{url: "http://" + l.Addr().String(), done: make(chan error, 1), webhooks: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", s.open)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, struct{}{}) })
	mux.HandleFunc("POST /webhook", s.take)
	s.server = &http.Server{Handler: mux} //nolint:gosec // on loopback, for its own children
	go func() { s.done <- s.server.Serve(l) }()
	return s, nil
}

func (s *stub) close() error {
	err := s.server.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// open names no capability: the broker does not ask such a host for events.
func (s *stub) open(w http.ResponseWriter, r *http.Request) {
	var req protocol.OpenSessionRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.webhooks[req.SessionID] = req.WebhookURL
	s.mu.Unlock()
	s.answer(w, map[string]string{"token": protocol.NewID()})
}

func (s *stub) webhook(sessionID string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	url := s.webhooks[sessionID]
	if url == "" {
		return "", fmt.Errorf("session %s was not opened", sessionID)
	}
	return url, nil
}

// take acknowledges what a broker would have stored.
func (s *stub) take(w http.ResponseWriter, r *http.Request) {
	var body struct {
		protocol.Cursor
		Events []protocol.Cursor `json:"events"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := protocol.IngestResponse{Success: true, Accepted: 1, Cursor: &body.Cursor}
	if n := len(body.Events); n > 0 {
		answer.Accepted, answer.Cursor = n, &body.Events[n-1]
	}
	s.answer(w, answer)
}

func (s *stub) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the peer may be gone
}
