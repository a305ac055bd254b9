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
	url      string   // of the host
	hook     string   // of the broker
	webhooks sync.Map // of the sessions, by id
}

func (r *run) stub() *stub {
	s, mux := &stub{}, http.NewServeMux()
	mux.HandleFunc("POST /session", s.open)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, struct{}{}) })
	mux.HandleFunc("POST /webhook", s.take)
	s.url = r.serve(mux)
	s.hook = s.url + "/webhook"
	return s
}

// open returns no capability, so the broker does not request events from this host.
func (s *stub) open(w http.ResponseWriter, r *http.Request) {
	var req protocol.OpenSessionRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.webhooks.Store(req.SessionID, req.WebhookURL)
	answer(w, map[string]string{"token": protocol.NewID()})
}

// webhook returns the webhook URL of a session.
func (s *stub) webhook(sessionID string) string {
	url, opened := s.webhooks.Load(sessionID)
	if !opened {
		check(fmt.Errorf("session %s was not opened", sessionID))
	}
	return url.(string)
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
	taken := append([]protocol.Cursor{body.Cursor}, body.Events...)
	answer(w, protocol.IngestResponse{Success: true, Accepted: max(1, len(body.Events)), Cursor: &taken[len(taken)-1]})
}
