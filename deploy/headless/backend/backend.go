// Package backend is an example of a program that uses "bellhop agent --api" over the
// network. It opens a session, disconnects during a turn and while a question is
// open, and continues both after it connected again.
//
// It imports nothing of Bellhop (the protocol is in docs/headless.md), so you can
// copy it as a start for your own program.
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

// Backend is a client of one agent server.
type Backend struct {
	URL   string // such as http://agent:7702
	Token string // the server's token; "" on loopback
	Out   io.Writer
}

var client = &http.Client{Timeout: 10 * time.Second}

// line has only the members that this program reads.
type line struct {
	Type      string `json:"type"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Content   string `json:"content"`
	RequestID string `json:"request_id"`
	Prompt    string `json:"prompt"`
	Message   string `json:"message"`
}

// Run runs the example once: a turn and a question, with a lost connection in each.
func (b *Backend) Run(ctx context.Context) error {
	if err := b.waitReady(ctx); err != nil {
		return err
	}
	var s session
	if err := b.call(ctx, http.MethodPost, "/sessions", `{}`, &s); err != nil {
		return err
	}
	defer func() {
		deleteCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		// Without this call the idle session would expire.
		_ = b.call(deleteCtx, http.MethodDelete, "/sessions/"+s.ID, "", nil)
	}()
	if err := b.leaveDuringTurn(ctx, s); err != nil {
		return err
	}
	if err := b.leaveDuringQuestion(ctx, s); err != nil {
		return err
	}
	return b.summary(ctx, s.ID)
}

type session struct {
	ID    string `json:"session_id"`
	Token string `json:"token"`
}

func (b *Backend) connect(ctx context.Context, s session, query string) (*websocket.Conn, error) {
	target := strings.Replace(b.URL, "http", "ws", 1) + "/ws/" + s.ID + "?token=" + s.Token + query
	conn, _, err := websocket.Dial(ctx, target, nil) //nolint:bodyclose // an upgraded connection has no body
	return conn, err
}

// leaveDuringTurn disconnects during a turn and reads the turn again with replay=all.
func (b *Backend) leaveDuringTurn(ctx context.Context, s session) error {
	conn, err := b.connect(ctx, s, "")
	if err != nil {
		return err
	}
	if err := send(ctx, conn, map[string]any{"type": "input", "text": "slow 20"}); err != nil {
		return err
	}
	if _, err := b.readUntil(ctx, conn, "chunk"); err != nil {
		return err
	}
	b.disconnect(conn, "during a turn")
	if conn, err = b.connect(ctx, s, "&replay=all"); err != nil {
		return err
	}
	_, err = b.readUntil(ctx, conn, "waiting_for_input")
	b.disconnect(conn, "after the turn")
	return err
}

// leaveDuringQuestion disconnects while a question is open and answers it after it
// connected again.
func (b *Backend) leaveDuringQuestion(ctx context.Context, s session) error {
	conn, err := b.connect(ctx, s, "")
	if err != nil {
		return err
	}
	if err := send(ctx, conn, map[string]any{"type": "input", "text": "write hello.txt: hello"}); err != nil {
		return err
	}
	question, err := b.readUntil(ctx, conn, "confirm")
	if err != nil {
		return err
	}
	b.disconnect(conn, "with an open question")
	if conn, err = b.connect(ctx, s, ""); err != nil {
		return err
	}
	again, err := b.readUntil(ctx, conn, "confirm")
	if err != nil {
		return err
	}
	if again.RequestID != question.RequestID {
		return fmt.Errorf("the question %s has become %s", question.RequestID, again.RequestID)
	}
	if err := send(ctx, conn, map[string]any{
		"type": "confirmation", "request_id": again.RequestID, "value": true,
	}); err != nil {
		return err
	}
	_, err = b.readUntil(ctx, conn, "waiting_for_input")
	b.disconnect(conn, "at the end")
	return err
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
		if l.State == "waiting_for_input" && l.Reason != "asked" {
			turns++
		}
	}
	_, err := fmt.Fprintf(b.Out, "the history has %d turns\n", turns)
	return err
}

// readUntil prints lines up to one with the given type or state.
func (b *Backend) readUntil(ctx context.Context, conn *websocket.Conn, kind string) (line, error) {
	conn.SetReadLimit(16 << 20)
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return line{}, fmt.Errorf("wait for %s: %w", kind, err)
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			return line{}, err
		}
		if l.Type != "chunk" { // a message line repeats the chunks
			_, _ = fmt.Fprintln(b.Out,
				strings.TrimSpace(strings.Join([]string{l.Type, l.State, l.Reason, l.Prompt, l.Message, l.Content}, " ")))
		}
		if l.Type == kind || l.State == kind {
			return l, nil
		}
	}
}

func (b *Backend) disconnect(conn *websocket.Conn, when string) {
	_ = conn.CloseNow()
	_, _ = fmt.Fprintln(b.Out, "-- disconnected", when)
}

func send(ctx context.Context, conn *websocket.Conn, l map[string]any) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, raw)
}

// waitReady waits until the server answers.
func (b *Backend) waitReady(ctx context.Context) error {
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
