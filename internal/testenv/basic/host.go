package basic

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// Step is one step of a turn: text in deltas, then tools. As in AI SDK 5, the text of every
// step has the id "text-1", and tool ids restart with every turn.
type Step struct {
	Deltas []string
	Tools  []Tool
}

// Tool is the use of a tool; Input and Output are encoded as JSON.
type Tool struct {
	Name          string
	Input, Output any
}

// Delivery is an event that the host posted and the response to it; Status 0 means no response.
type Delivery struct {
	Body   map[string]any
	Status int
	Answer string
}

// Host is a basic agent host: POST /session {sessionId, webhookUrl} and POST
// /stream/:sessionId?token= {prompt}. It posts events one by one, without ids, numbers or
// retries, and never reports the end of a turn.
type Host struct {
	Password string
	Script   func(prompt string) []Step // nil = two steps with one tool between them
	Client   *http.Client               // for the webhook; nil = http.DefaultClient

	mu       sync.Mutex
	sessions map[string]*session
	opened   []json.RawMessage
	posted   []Delivery
	lastTime int64
}

type session struct {
	webhookURL string
	tokens     map[string]bool
}

// ServeHTTP implements http.Handler.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", h.open)
	mux.HandleFunc("POST /stream/{sessionId}", h.stream)
	mux.ServeHTTP(w, r)
}

// Opened returns the bodies of all accepted calls of /session.
func (h *Host) Opened() []json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]json.RawMessage(nil), h.opened...)
}

// Posted returns the events posted so far and their responses.
func (h *Host) Posted() []Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Delivery(nil), h.posted...)
}

func (h *Host) open(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+h.Password {
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	body, err := io.ReadAll(r.Body)
	var req struct {
		SessionID  string `json:"sessionId"`
		WebhookURL string `json:"webhookUrl"`
	}
	if err != nil || json.Unmarshal(body, &req) != nil || req.SessionID == "" || req.WebhookURL == "" {
		refuse(w, http.StatusBadRequest, "sessionId and webhookUrl are required")
		return
	}
	token := rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened = append(h.opened, body)
	if h.sessions == nil {
		h.sessions = map[string]*session{}
	}
	s := h.sessions[req.SessionID]
	if s == nil {
		s = &session{tokens: map[string]bool{}}
		h.sessions[req.SessionID] = s
	}
	s.webhookURL, s.tokens[token] = req.WebhookURL, true
	answer(w, map[string]string{"token": token})
}

func (h *Host) stream(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("sessionId")
	webhook, known := h.authorize(id, r.URL.Query().Get("token"))
	if !known {
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	var req struct {
		Prompt string `json:"prompt"`
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil {
		refuse(w, http.StatusBadRequest, "prompt is required")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	(&turn{host: h, w: w, sessionID: id, webhook: webhook}).run(h.script(req.Prompt))
}

func (h *Host) authorize(sessionID, token string) (webhook string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[sessionID]
	if s == nil || !s.tokens[token] {
		return "", false
	}
	return s.webhookURL, true
}

func (h *Host) script(prompt string) []Step {
	if h.Script != nil {
		return h.Script(prompt)
	}
	return []Step{
		{
			Deltas: []string{"Let me ", "look."},
			Tools:  []Tool{{Name: "list_dir", Input: map[string]string{"path": "."}, Output: []string{"main.go"}}},
		},
		{Deltas: []string{"You said: ", prompt}},
	}
}

// timestamp returns the time in milliseconds, each value only once.
func (h *Host) timestamp() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastTime = max(h.lastTime+1, time.Now().UnixMilli())
	return h.lastTime
}

func (h *Host) send(url string, body []byte) (status int, text string) {
	client := h.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(read)
}

func (h *Host) record(d Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.posted = append(h.posted, d)
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the peer may have disconnected
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message})
}
