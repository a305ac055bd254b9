package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"bellhop/protocol"
)

// start begins a session's turn and returns at its end.
func (h *hostProcess) start(ctx context.Context, sessionID, token, prompt string) {
	h.call(ctx, "/stream/"+url.PathEscape(sessionID), token, &protocol.PromptRequest{Prompt: prompt})
}

// begin starts a session's turn and leaves its stream.
func (h *hostProcess) begin(ctx context.Context, sessionID, token, prompt string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	check(h.send(ctx, http.MethodPost, "/stream/"+url.PathEscape(sessionID), token, &protocol.PromptRequest{Prompt: prompt}).Close())
}

// call posts and returns the response's body.
func (h *hostProcess) call(ctx context.Context, path, bearer string, body any) []byte {
	return must(readAll(h.send(ctx, http.MethodPost, path, bearer, body)))
}

// send returns the body of the host's response.
func (h *hostProcess) send(ctx context.Context, method, path, bearer string, body any) io.ReadCloser {
	var sent []byte
	if body != nil {
		sent = must(json.Marshal(body))
	}
	return must(request(ctx, method, h.url+path, "Bearer "+bearer, sent))
}

// request returns the body of a response of success; any other status is an error.
func request(ctx context.Context, method, url, authorization string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	answer, err := readAll(resp.Body)
	return nil, errors.Join(fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, answer), err)
}

// readAll returns the content of a reader and closes it.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	return io.ReadAll(body)
}

// streamPath returns the path of a session's stream; with after "" the stream
// begins with the next part.
func streamPath(sessionID, token, after string) string {
	query := url.Values{"token": {token}, "follow": {"true"}}
	if after != "" {
		query.Set("after", after)
	}
	return "/stream/" + sessionID + "?" + query.Encode()
}
