// Package backend is an example of a program that drives "bellhop agent --api"
// from elsewhere: it opens a session, hangs up in the middle of a turn and with a
// question open, comes back both times, and finds everything as it left it.
//
// It uses the wire alone (docs/headless.md); copy it and begin there.
package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Backend talks to one agent server.
type Backend struct {
	URL   string // such as http://agent:7702
	Token string // the server's; "" on loopback
	Out   io.Writer
}

var client = &http.Client{Timeout: 10 * time.Second}

// line is what this program needs of a line.
type line struct {
	Type      string `json:"type"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Content   string `json:"content"`
	RequestID string `json:"request_id"`
	Prompt    string `json:"prompt"`
	Message   string `json:"message"`
}

// Run plays the example once.
func (b *Backend) Run(ctx context.Context) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	var session struct {
		ID    string `json:"session_id"`
		Token string `json:"token"`
	}
	if err := b.call(ctx, http.MethodPost, "/sessions", `{}`, &session); err != nil {
		return err
	}
	defer func() {
		farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = b.call(farewell, http.MethodDelete, "/sessions/"+session.ID, "", nil) // it would end by itself
	}()
	connect := func(query string) (*websocket.Conn, error) {
		target := strings.Replace(b.URL, "http", "ws", 1) + "/ws/" + session.ID + "?token=" + session.Token + query
		conn, _, err := websocket.Dial(ctx, target, nil) //nolint:bodyclose // there is none after an upgrade
		return conn, err
	}

	conn, err := connect("")
	if err != nil {
		return err
	}
	if err := say(ctx, conn, map[string]any{"type": "input", "text": "slow 20"}); err != nil {
		return err
	}
	if _, err := b.until(ctx, conn, "chunk"); err != nil {
		return err
	}
	b.hangUp(conn, "in the middle of a turn")
	if conn, err = connect("&replay=all"); err != nil {
		return err
	}
	if _, err := b.until(ctx, conn, "waiting_for_input"); err != nil {
		return err
	}
	if err := say(ctx, conn, map[string]any{"type": "input", "text": "write hello.txt: hello"}); err != nil {
		return err
	}
	question, err := b.until(ctx, conn, "confirm")
	if err != nil {
		return err
	}
	b.hangUp(conn, "with a question open")
	if conn, err = connect(""); err != nil {
		return err
	}
	again, err := b.until(ctx, conn, "confirm")
	if err != nil {
		return err
	}
	if again.RequestID != question.RequestID {
		return fmt.Errorf("the question %s has become %s", question.RequestID, again.RequestID)
	}
	if err := say(ctx, conn, map[string]any{"type": "confirmation", "request_id": again.RequestID, "value": true}); err != nil {
		return err
	}
	if _, err := b.until(ctx, conn, "waiting_for_input"); err != nil {
		return err
	}
	b.hangUp(conn, "at the end")
	return b.summary(ctx, session.ID)
}

func (b *Backend) summary(ctx context.Context, id string) error {
	var history struct {
		Lines []line `json:"lines"`
	}
	if err := b.call(ctx, http.MethodGet, "/sessions/"+id+"/history", "", &history); err != nil {
		return err
	}
	turns := 0
	for _, l := range history.Lines {
		if l.State == "waiting_for_input" {
			turns++
		}
	}
	_, err := fmt.Fprintf(b.Out, "the history has %d turns\n", turns)
	return err
}

// until prints lines up to one of a type or a state.
func (b *Backend) until(ctx context.Context, conn *websocket.Conn, kind string) (line, error) {
	conn.SetReadLimit(16 << 20)
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return line{}, fmt.Errorf("while %s was awaited: %w", kind, err)
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			return line{}, err
		}
		if l.Type != "chunk" { // the message repeats them
			_, _ = fmt.Fprintln(b.Out, strings.TrimSpace(strings.Join([]string{l.Type, l.State, l.Reason, l.Prompt, l.Message, l.Content}, " ")))
		}
		if l.Type == kind || l.State == kind {
			return l, nil
		}
	}
}

func (b *Backend) hangUp(conn *websocket.Conn, when string) {
	_ = conn.CloseNow()
	_, _ = fmt.Fprintln(b.Out, "-- hung up", when)
}

func say(ctx context.Context, conn *websocket.Conn, l map[string]any) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, raw)
}

// ready waits until the server answers.
func (b *Backend) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := b.call(ctx, http.MethodGet, "/healthz", "", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the agent server does not answer: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (b *Backend) call(ctx context.Context, method, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, b.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if b.Token != "" {
		r.Header.Set("Authorization", "Bearer "+b.Token)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= http.StatusBadRequest:
		return errors.New(method + " " + path + ": " + resp.Status + " " + string(answer))
	case into == nil:
		return nil
	default:
		return json.Unmarshal(answer, into)
	}
}
