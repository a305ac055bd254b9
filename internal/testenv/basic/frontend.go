package basic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// Frontend is a basic frontend: it checks in with two members, reads four, and streams once.
type Frontend struct {
	BrokerURL string
	Token     string       // API token
	Client    *http.Client // nil = http.DefaultClient
}

// CheckIn has the members that the frontend reads of a response.
type CheckIn struct {
	Success     bool   `json:"success"`
	SessionID   string `json:"sessionId"`
	StreamToken string `json:"streamToken"`
	StreamURL   string `json:"streamUrl"`
}

// CheckIn sends a message.
func (f *Frontend) CheckIn(ctx context.Context, taskID, message string) (*CheckIn, error) {
	req, err := post(ctx, f.BrokerURL+"/api/agent", map[string]string{"taskId": taskID, "message": message})
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+f.Token)
	in := &CheckIn{}
	if err := exchange(f.Client, req, in); err != nil {
		return nil, err
	}
	if !in.Success || in.SessionID == "" || in.StreamToken == "" || in.StreamURL == "" {
		return nil, errors.New("basic: a check-in must answer success, sessionId, streamToken and streamUrl")
	}
	return in, nil
}

// Stream sends the prompt and yields the data of each frame until the stream ends.
func (f *Frontend) Stream(ctx context.Context, in *CheckIn, prompt string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		body, err := f.openStream(ctx, in, prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = body.Close() }()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if ok && !yield(json.RawMessage(data), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// Ask is CheckIn followed by Stream with the same message.
func (f *Frontend) Ask(ctx context.Context, taskID, message string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		in, err := f.CheckIn(ctx, taskID, message)
		if err != nil {
			yield(nil, err)
			return
		}
		f.Stream(ctx, in, message)(yield)
	}
}

func (f *Frontend) openStream(ctx context.Context, in *CheckIn, prompt string) (io.ReadCloser, error) {
	req, err := post(ctx, in.StreamURL+"?token="+url.QueryEscape(in.StreamToken), map[string]string{"prompt": prompt})
	if err != nil {
		return nil, err
	}
	client := f.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("basic: the stream answered %d", resp.StatusCode)
	}
	return resp.Body, nil
}

func post(ctx context.Context, target string, body any) (*http.Request, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(encoded))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}
