package basic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Broker is a basic broker: it opens sessions with two members and accepts single text,
// tool-call and tool-result events. ServeHTTP is its webhook.
type Broker struct {
	URL    string       // URL of ServeHTTP for hosts
	Client *http.Client // nil = http.DefaultClient
	// Strict rejects other types of events with 400; otherwise they are accepted and dropped.
	Strict bool

	mu       sync.Mutex
	events   []json.RawMessage
	received int
}

// Open calls the host's /session and returns the stream token.
func (b *Broker) Open(ctx context.Context, hostURL, password, sessionID string) (string, error) {
	body, err := json.Marshal(map[string]string{
		"sessionId": sessionID, "webhookUrl": b.URL + "/webhook?token=e30.e30.e30",
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hostURL+"/session", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+password)
	var opened struct {
		Token string `json:"token"`
	}
	if err := exchange(b.Client, req, &opened); err != nil {
		return "", err
	}
	if opened.Token == "" {
		return "", errors.New("basic: /session answered without a token")
	}
	return opened.Token, nil
}

// Events returns the bodies of the accepted text and tool events, in order.
func (b *Broker) Events() []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]json.RawMessage(nil), b.events...)
}

// Received returns the number of posts, including rejected ones.
func (b *Broker) Received() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.received
}

// ServeHTTP implements http.Handler.
func (b *Broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		refuse(w, http.StatusMethodNotAllowed, "Method not allowed")
		return
	}
	var event struct {
		SessionID string   `json:"sessionId"`
		Type      string   `json:"type"`
		Timestamp *float64 `json:"timestamp"`
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.received++
	if json.Unmarshal(body, &event) != nil || event.SessionID == "" || event.Type == "" || event.Timestamp == nil {
		refuse(w, http.StatusBadRequest, "Invalid payload")
		return
	}
	switch event.Type {
	case "text", "tool-call", "tool-result":
		b.events = append(b.events, body)
	default:
		if b.Strict {
			refuse(w, http.StatusBadRequest, "Unknown event type")
			return
		}
	}
	answer(w, map[string]bool{"success": true})
}

// exchange makes one call, which must be answered with 2xx and JSON.
func exchange(client *http.Client, req *http.Request, out any) error {
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("basic: status %d: %s", resp.StatusCode, body)
	}
	return json.Unmarshal(body, out)
}
