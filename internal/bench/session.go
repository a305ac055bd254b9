package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"bellhop/protocol"
)

// open calls a host's /session as a broker does.
func (h *hostProcess) open(ctx context.Context, req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
	raw, err := h.call(ctx, "/session", hostPassword, req)
	if err != nil {
		return nil, err
	}
	var answer protocol.OpenSessionResponse
	return &answer, json.Unmarshal(raw, &answer)
}

// start begins a session's turn and returns at its end, or when ctx ends.
func (h *hostProcess) start(ctx context.Context, sessionID, token, prompt string) error {
	_, err := h.call(ctx, "/stream/"+url.PathEscape(sessionID), token, &protocol.PromptRequest{Prompt: prompt})
	return err
}

// begin starts a session's turn and leaves its stream.
func (h *hostProcess) begin(ctx context.Context, sessionID, token, prompt string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := h.send(ctx, http.MethodPost, "/stream/"+url.PathEscape(sessionID), token, &protocol.PromptRequest{Prompt: prompt})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (h *hostProcess) interrupt(ctx context.Context, sessionID string) error {
	_, err := h.call(ctx, "/session/"+url.PathEscape(sessionID)+"/interrupt", hostPassword, nil)
	return err
}

// call posts and returns the answer.
func (h *hostProcess) call(ctx context.Context, path, bearer string, body any) ([]byte, error) {
	resp, err := h.send(ctx, http.MethodPost, path, bearer, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// send returns answers of success alone.
func (h *hostProcess) send(ctx context.Context, method, path, bearer string, body any) (*http.Response, error) {
	var sent io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, sent)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, said)
}
