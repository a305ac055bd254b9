package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/protocol"
)

// BasicOptions are the address of a server of the basic flow, and a prompt for its agent.
type BasicOptions struct {
	URL      string
	Password string
	Prompt   string        // gets a text as its answer: "Say hello"
	Patience time.Duration // how long to wait for an expected event: 30 s

	only []string // names of the checks to run; none = all
}

// requestLimit is the least time that a request may take. A short Patience is for events only:
// a loaded machine needs longer for a request.
const requestLimit = 30 * time.Second

// basicServer is the subject of the checks. Its webhook is a server on this machine.
type basicServer struct {
	options BasicOptions
	http    *http.Client
	hook    string // URL of the webhook

	mu       sync.Mutex
	posts    []basicPost
	refusals int // how many posts to answer with 503
	changed  chan struct{}
}

// basicPost is an event that the server posted.
type basicPost struct {
	raw     json.RawMessage
	event   *protocol.Event
	problem string
}

// Basic tests a server of the basic flow: /session, /stream/:id?token= and the webhook of
// single events.
// It returns an error if the webhook cannot listen.
func Basic(ctx context.Context, options BasicOptions) (*Report, error) {
	options.URL = strings.TrimRight(options.URL, "/")
	options.Prompt = cmp.Or(options.Prompt, "Say hello")
	options.Patience = cmp.Or(options.Patience, 30*time.Second)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	b := &basicServer{options: options, http: &http.Client{Transport: transport}, changed: make(chan struct{})}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return nil, fmt.Errorf("webhook receiver: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(b.receive), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	b.hook = "http://" + listener.Addr().String()
	return perform(ctx, "basic server: "+options.URL, b, options.only, []check[*basicServer]{
		{"the password", "POST /session without the password is 401 or 403", checkBasicPassword},
		{
			"a session", "POST /session {sessionId, webhookUrl} answers {token} within 10 s; other members are ignored",
			checkBasicSession,
		},
		{"the stream token", "POST /stream/:id without the token, or with another session's, is refused", checkBasicToken},
		{"pages", "a page of another origin may stream: a preflight for POST with Content-Type is allowed", checkBasicCORS},
		{
			"a turn", "POST /stream/:id?token= streams parts as SSE, ends in one finish, abort or error, and closes",
			checkBasicStream,
		},
		{"the texts", "each streamed text is posted once to the webhook, with sessionId, id and timestamp", checkBasicTexts},
		{
			"the end of a turn", "a finish event is posted, so the turn ends even if no frontend reads its stream",
			checkBasicFinish,
		},
		{"a webhook that fails", "an event that was answered with 503 is posted again", checkBasicRetry},
		{"a second turn", "the same session takes another turn, with a new token", checkBasicAgain},
		{"a reader that leaves", "the server works after a reader has left in the middle of a turn", checkBasicLeave},
	}), nil
}

// receive is the webhook.
func (b *basicServer) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPost+1))
	if err != nil {
		return
	}
	post := basicPost{raw: body}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind != "application/json" {
		post.problem = fmt.Sprintf("a post has the Content-Type %q, not application/json", kind)
	} else if post.event, err = protocol.ParseEvent(body); err != nil {
		post.problem = fmt.Sprintf("a post is no event: %v: %s", err, brief(string(body)))
	} else if post.event.Timestamp == nil {
		post.problem = "a post has no timestamp: " + brief(string(body))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refusals > 0 && post.problem == "" {
		b.refusals--
		reply(w, http.StatusServiceUnavailable, map[string]string{"error": "Later"})
		return
	}
	b.posts = append(b.posts, post)
	close(b.changed)
	b.changed = make(chan struct{})
	reply(w, http.StatusOK, map[string]bool{"success": true})
}

// open opens a session and returns its stream token.
func (b *basicServer) open(s *scope, id string) string {
	token := rand32()
	body, err := json.Marshal(map[string]any{
		"sessionId": id, "webhookUrl": b.hook + "/webhook?token=" + token,
		// A basic server ignores the other members.
		"brokerId": brokerID, "cursor": protocol.Cursor{}, "turn": protocol.AnnouncedTurn{ID: token},
	})
	if err != nil {
		s.stopf("encode: %v", err)
	}
	a := b.call(s, http.MethodPost, "/session", string(body), "Authorization: Bearer "+b.options.Password)
	var opened struct {
		Token string `json:"token"`
	}
	if a.status/100 != 2 || json.Unmarshal(a.body, &opened) != nil || opened.Token == "" {
		s.stopf("POST /session must answer 200 {\"token\":\"…\"}, and answered %s", a)
	}
	return opened.Token
}

func rand32() string { return strings.ReplaceAll(protocol.NewID(), "-", "") }

func (b *basicServer) request(s *scope, method, path, body string, header ...string) *http.Response {
	ctx, cancel := context.WithTimeout(s.ctx, max(b.options.Patience, requestLimit))
	s.later(cancel)
	r, err := http.NewRequestWithContext(ctx, method, b.options.URL+path, strings.NewReader(body))
	if err != nil {
		s.stopf("%s %s: %v", method, route(path), err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := b.http.Do(r)
	if err != nil {
		s.stopf("%s %s: %v", method, route(path), unquoted(err))
	}
	s.later(func() { _ = resp.Body.Close() })
	return resp
}

func (b *basicServer) call(s *scope, method, path, body string, header ...string) *answer {
	resp := b.request(s, method, path, body, header...) //nolint:bodyclose // request closes it when the check ends
	read, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		s.stopf("%s %s: %v", method, route(path), err)
	}
	return &answer{resp.StatusCode, resp.Header, read}
}

// prompt starts a turn and returns the response, whose body is the stream.
func (b *basicServer) prompt(s *scope, id, token string) *http.Response {
	body, err := json.Marshal(protocol.PromptRequest{Prompt: b.options.Prompt})
	if err != nil {
		s.stopf("encode: %v", err)
	}
	resp := b.request(s, http.MethodPost, "/stream/"+id+"?token="+url.QueryEscape(token), string(body))
	kind := resp.Header.Get("Content-Type")
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		s.stopf("POST /stream must answer 200 with Content-Type text/event-stream, and answered %d %q", resp.StatusCode, kind)
	}
	return resp
}

// parts reads a stream to its end.
func (b *basicServer) parts(s *scope, resp *http.Response) []protocol.Part {
	var parts []protocol.Part
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, protocol.MaxLine)
	for lines.Scan() {
		data, found := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !found || string(data) == "[DONE]" {
			continue
		}
		var part protocol.Part
		if err := json.Unmarshal(data, &part); err != nil || part.Type == "" {
			s.stopf("every data line must be one part as JSON with a type: %s", brief(string(data)))
		}
		parts = append(parts, part)
	}
	if err := lines.Err(); err != nil {
		s.stopf("the stream broke, or did not close within %s: %v", max(b.options.Patience, requestLimit), unquoted(err))
	}
	return parts
}

// turn runs a turn in a new session.
func (b *basicServer) turn(s *scope) (id string, parts []protocol.Part) {
	id = "conformance-" + protocol.NewID()
	return id, b.parts(s, b.prompt(s, id, b.open(s, id))) //nolint:bodyclose // as in call
}

// until waits until the posts of the session hold, and returns them. After Patience it returns those that came.
func (b *basicServer) until(
	s *scope, id, what string, holds func([]protocol.Event) bool,
) (events []protocol.Event, complete bool) {
	limit := time.NewTimer(b.options.Patience)
	defer limit.Stop()
	for {
		b.mu.Lock()
		changed, posts := b.changed, slices.Clone(b.posts)
		b.mu.Unlock()
		events = nil
		for _, p := range posts {
			switch {
			case p.problem != "":
				s.stopf("%s", p.problem)
			case p.event.SessionID == id:
				events = append(events, *p.event)
			}
		}
		if holds(events) {
			return events, true
		}
		select {
		case <-changed:
		case <-limit.C:
			return events, false
		case <-s.ctx.Done():
			s.stopf("ended while %s was awaited", what)
		}
	}
}
