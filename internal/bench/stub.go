package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"bellhop/protocol"
)

// stub replaces the unmeasured side: a host that opens every session, and a broker
// that acknowledges every event.
type stub struct {
	url string

	mu       sync.Mutex
	webhooks map[string]string // of the sessions, by id
}

func (r *run) stub() *stub {
	s := &stub{webhooks: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", s.open)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, struct{}{}) })
	mux.HandleFunc("POST /webhook", s.take)
	s.url = r.serve(mux)
	return s
}

// open returns no capability, so the broker does not request events from this host.
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

// webhook returns the webhook URL of a session.
func (s *stub) webhook(sessionID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	url := s.webhooks[sessionID]
	if url == "" {
		check(fmt.Errorf("session %s was not opened", sessionID))
	}
	return url
}

// take acknowledges events like a broker that has stored them.
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
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}
