package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"bellhop/protocol"
)

// session is a session of a host.
type session struct {
	host      *hostProcess
	id, token string
	before    string // stream id before the first part; "" = unknown
}

// open calls the host's /session as a broker does. Without an id the session gets a
// new one.
func (h *hostProcess) open(ctx context.Context, req *protocol.OpenSessionRequest) *session {
	if req.SessionID == "" {
		req.SessionID = protocol.NewID()
	}
	var opened protocol.OpenSessionResponse
	check(json.Unmarshal(h.call(ctx, "/session", hostPassword, req), &opened))
	s := &session{host: h, id: req.SessionID, token: opened.Token}
	if opened.Cursor != nil {
		s.before = protocol.StreamID{Epoch: opened.Cursor.Epoch}.String()
	}
	return s
}

// prompt begins a turn and returns its stream.
func (s *session) prompt(ctx context.Context, text string) io.ReadCloser {
	return s.host.send(ctx, http.MethodPost, "/stream/"+s.id, s.token, &protocol.PromptRequest{Prompt: text})
}

// complete begins a turn and returns at its end.
func (s *session) complete(ctx context.Context, prompt string) { must(readAll(s.prompt(ctx, prompt))) }

// begin starts a turn and leaves its stream.
func (s *session) begin(ctx context.Context, prompt string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	check(s.prompt(ctx, prompt).Close())
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

// reading returns an order for the streams of sessions of one host, from now on or
// from their beginning.
func reading(sessions []*session, each int, fromStart bool) ReaderOrder {
	o := ReaderOrder{Address: strings.TrimPrefix(sessions[0].host.url, "http://"), Each: each}
	for _, s := range sessions {
		query := url.Values{"token": {s.token}, "follow": {"true"}}
		if fromStart {
			query.Set("after", s.before)
		}
		o.Targets = append(o.Targets, "/stream/"+s.id+"?"+query.Encode())
	}
	return o
}
