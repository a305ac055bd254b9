package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// HostOptions are the address of the host and the prompts for it. The default prompts are for
// Bellhop's demo agent; other agents need others. The prompt "-" skips the checks that need it.
type HostOptions struct {
	URL      string
	Password string
	Agent    string // "" = the host's default
	Origin   string // an origin that the host allows; "" skips a check

	Listen      string // address of the webhook receiver: 127.0.0.1:0
	ReceiverURL string // URL of the receiver as seen by the host; "" = the listener's address

	Plain    string        // gets a reply with a tool call: "list"
	Confirm  string        // makes the agent ask for a permission: "write conformance.txt: hello"
	Slow     string        // keeps it busy for seconds: "slow 100"
	Patience time.Duration // how long to wait for an expected event: 30 s

	only []string // names of the checks to run; none = all
}

func (o *HostOptions) fill() {
	o.URL = strings.TrimRight(o.URL, "/")
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:0")
	o.Plain = cmp.Or(o.Plain, "list")
	o.Confirm = cmp.Or(o.Confirm, "write conformance.txt: hello")
	o.Slow = cmp.Or(o.Slow, "slow 100")
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
}

// host is the subject of the checks.
type host struct {
	options  HostOptions
	receiver *receiver
	http     *http.Client
	opened   []string // sessions to delete at the end
}

// Host tests an agent host and reports whether it implements protocol section 2. It returns an
// error if the receiver cannot listen.
func Host(ctx context.Context, options HostOptions) (*Report, error) {
	options.fill()
	r, err := listen(options.Listen, options.ReceiverURL)
	if err != nil {
		return nil, fmt.Errorf("webhook receiver: %w", err)
	}
	defer r.close()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	h := &host{options: options, receiver: r, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	defer h.clear()
	return perform(ctx, "host: "+options.URL, h, options.only, hostChecks), nil
}

// brokerID is the name of the checks' broker.
const brokerID = "conformance"

var hostChecks = []check[*host]{
	{"health", "/healthz and /readyz answer 200 without a credential", checkHealth},
	{
		"errors",
		"one shape {error,code}: 401 without the password, 404 for unknown routes and sessions, 405 with Allow, 400 " +
			"for bad input",
		checkErrors,
	},
	{
		"a session",
		"POST /session creates and refreshes, starts no program, and answers token, expiresAt, cursor, status and " +
			"capabilities",
		checkSessions,
	},
	{
		"named answers",
		"a host with the capability named-answers repeats Bellhop-Request in every answer, refusals and streams included",
		checkNames,
	},
	{
		"a turn", "POST /stream streams parts with ascending ids and ends in exactly one finish, abort or error",
		checkStream,
	},
	{"the webhook", "every event is posted once, in order, without a hole, and is what the stream showed", checkWebhook},
	{"statuses", "busy is posted when a turn begins, idle when it has ended", checkStatuses},
	{"reconciliation", "GET /session/:id/events returns the posted events, page by page", checkEvents},
	{"resume", "Last-Event-ID and ?after= continue exactly; what is unknown is a gap, never an error", checkResume},
	{"a turn starts once", "a later POST /stream for a started turn ignores its prompt and replays it", checkReplay},
	{
		"a turn that is superseded", "it ends with finish{other, not-started}; its token answers 409 no_turn",
		checkSuperseded,
	},
	{"a prompt that is bound", "another prompt than promptSha256 says is 409 prompt_mismatch", checkBound},
	{"an attach token", "it reads, and starts no turn: 409 no_turn", checkAttach},
	{"a reader that leaves", "a disconnect never stops a turn", checkDisconnect},
	{
		"busy and interrupt",
		"a second turn is 409 busy; interrupt names the session, and ends the first with abort and finish{other, aborted}",
		checkInterruptTurn,
	},
	{
		"an interaction", "a permission is an approval request and an interaction event; the first answer wins",
		checkInteraction,
	},
	{"a webhook that fails", "what is refused with 503 is posted again, nothing is lost or reordered", checkRetry},
	{"a webhook that reports a gap", "409 gap rewinds to the cursor it names", checkGap},
	{"one broker a session", "another brokerId is 409 foreign_broker", checkForeign},
	{
		"lines",
		"POST /sessions opens a session without a broker, /ws/:id drives it by section 4, its history is complete",
		checkLines,
	},
	{"tokens", "an unknown token and another session's are 401; revoke names the session, and ends them all", checkTokens},
	{"CORS", "allowed origins see every answer, errors included; others see none", checkCORS},
	{"the end of a session", "DELETE /session/:id names the session, then 404", checkDelete},
}

// clear deletes the sessions that the checks opened, ignoring errors.
func (h *host) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, id := range h.opened {
		r, err := http.NewRequestWithContext(ctx, http.MethodDelete, h.options.URL+"/session/"+id, nil)
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+h.options.Password)
		if resp, err := h.http.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// call is a request; its headers are lines "Name: value".
type call struct {
	method, path, body string
	header             []string
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) code() string {
	var e protocol.ErrorBody
	_ = json.Unmarshal(a.body, &e) // any other body has no code
	return string(e.Code)
}

func (a *answer) String() string {
	return fmt.Sprintf("%d %s", a.status, brief(string(a.body)))
}

func (h *host) request(s *scope, c call) *http.Request {
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	r, err := http.NewRequestWithContext(s.ctx, c.method, h.options.URL+c.path, body)
	if err != nil {
		s.stopf("%s %s: %v", c.method, c.path, err)
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range c.header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func (h *host) call(s *scope, c call) *answer {
	r := h.request(s, c)
	ctx, cancel := context.WithTimeout(s.ctx, h.options.Patience)
	defer cancel()
	resp, err := h.http.Do(r.WithContext(ctx))
	if err != nil {
		s.stopf("%s %s: %v", c.method, route(c.path), unquoted(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		s.stopf("%s %s: %v", c.method, route(c.path), err)
	}
	return &answer{resp.StatusCode, resp.Header, body}
}

// owner makes a call with the password.
func (h *host) owner(s *scope, method, path, body string) *answer {
	return h.call(s, call{method, path, body, []string{"Authorization: Bearer " + h.options.Password}})
}

// expect notes a problem unless the response has the status and the code.
func (s *scope) expect(what string, a *answer, status int, code protocol.Code) {
	if a.status != status || code != "" && a.code() != string(code) {
		s.failf("%s: got %s, want %s", what, a, strings.TrimSpace(fmt.Sprint(status, " ", code)))
	}
}

// confirmed notes a problem unless the response is a success that names the session: brokers take any other for a
// gateway's.
func (s *scope) confirmed(what string, a *answer, one *session) {
	s.expect(what, a, http.StatusOK, "")
	var body protocol.Confirmation
	if a.status == http.StatusOK && (json.Unmarshal(a.body, &body) != nil || body.SessionID != one.id) {
		s.failf("%s: got %s, without the session's id", what, a)
	}
}

// route returns a path without its token.
func route(path string) string {
	route, _, _ := strings.Cut(path, "?")
	return route
}

// unquoted returns the cause of a client's error, which itself would print the URL with its
// token.
func unquoted(err error) error {
	var quoted *url.Error
	if errors.As(err, &quoted) {
		return quoted.Err
	}
	return err
}

// session is a session opened by a check.
type session struct {
	id   string
	turn string
	protocol.OpenSessionResponse
}

// open opens a new session with an announced turn.
func (h *host) open(s *scope) *session {
	one := &session{id: "conformance-" + protocol.NewID()}
	h.opened = append(h.opened, one.id)
	h.refresh(s, one, nil)
	return one
}

// refresh announces another turn; change may alter the request.
func (h *host) refresh(s *scope, one *session, change func(*protocol.OpenSessionRequest)) *answer {
	turn := protocol.NewID()
	req := &protocol.OpenSessionRequest{
		SessionID: one.id, WebhookURL: h.receiver.webhook(one.id, turn), BrokerID: brokerID, NamedAnswers: true,
		Cursor: h.receiver.at(one.id), Agent: h.options.Agent, Turn: &protocol.AnnouncedTurn{ID: turn},
	}
	if change != nil {
		change(req)
	}
	body, err := json.Marshal(req)
	if err != nil {
		s.stopf("encode: %v", err)
	}
	a := h.owner(s, http.MethodPost, "/session", string(body))
	if a.status != http.StatusOK {
		if change == nil {
			s.stopf("POST /session: %s", a)
		}
		return a
	}
	one.OpenSessionResponse = protocol.OpenSessionResponse{}
	if err := json.Unmarshal(a.body, &one.OpenSessionResponse); err != nil || one.Token == "" {
		s.stopf("POST /session answered without a token: %s", a)
	}
	if len(one.Capabilities) > 0 && one.SessionID != one.id {
		s.failf("POST /session: got sessionId %q, not the session's: brokers take the answer for one about another session",
			one.SessionID)
	}
	if req.Turn != nil {
		one.turn = req.Turn.ID
	}
	return a
}

// at returns the cursor that a broker would report.
func (r *receiver) at(session string) *protocol.Cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	cursor := r.taskLocked(session).cursor
	return &cursor
}

// stream is an open stream.
type stream struct {
	*scope
	resp   *http.Response
	reader *sse.Reader
	frames []frame
}

type frame struct {
	id   string
	raw  []byte
	part protocol.Part
}

// read opens a stream. The caller checks a status other than 200.
func (h *host) read(s *scope, c call) (*stream, *answer) {
	r := h.request(s, c)
	ctx, cancel := context.WithTimeout(s.ctx, h.options.Patience)
	resp, err := h.http.Do(r.WithContext(ctx))
	if err != nil {
		cancel()
		s.stopf("%s %s: %v", c.method, route(c.path), unquoted(err))
	}
	s.later(func() {
		cancel()
		_ = resp.Body.Close()
	})
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return nil, &answer{resp.StatusCode, resp.Header, body}
	}
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		s.stopf("%s %s answers with Content-Type %q", c.method, route(c.path), got)
	}
	return &stream{scope: s, resp: resp, reader: sse.NewReader(resp.Body)},
		&answer{status: http.StatusOK, header: resp.Header}
}

// prompt starts the announced turn.
func (h *host) prompt(s *scope, one *session, text string) *stream {
	body, err := json.Marshal(protocol.PromptRequest{Prompt: text})
	if err != nil {
		s.stopf("encode: %v", err)
	}
	st, a := h.read(s, call{
		http.MethodPost, "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token), string(body), nil,
	})
	if st == nil {
		s.stopf("POST /stream: %s", a)
	}
	return st
}

// attach reads a session's stream after an id.
func (h *host) attach(s *scope, one *session, after string) (*stream, *answer) {
	c := call{method: http.MethodGet, path: "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token)}
	if after != "" {
		c.header = []string{"Last-Event-ID: " + after}
	}
	return h.read(s, c)
}

// next returns the next part; false at the end.
func (st *stream) next() (*frame, bool) {
	f, err := st.reader.Next()
	if errors.Is(err, io.EOF) {
		return nil, false
	}
	if err != nil {
		st.stopf("the stream broke after %s: %v", st, err)
	}
	one := frame{id: f.ID, raw: bytes.Clone(f.Data)}
	if err := json.Unmarshal(f.Data, &one.part); err != nil || one.part.Type == "" {
		st.stopf("a frame is no part: %s", brief(string(f.Data)))
	}
	st.frames = append(st.frames, one)
	return &st.frames[len(st.frames)-1], true
}

// rest reads to the end.
func (st *stream) rest() []frame {
	for {
		if _, more := st.next(); !more {
			return st.frames
		}
	}
}

// until reads up to a part of the type.
func (st *stream) until(kind string) *frame {
	for {
		f, more := st.next()
		if !more {
			st.stopf("the stream ended without %s: %s", kind, st)
		}
		if f.part.Type == kind {
			return f
		}
	}
}

// String returns an outline of the frames read.
func (st *stream) String() string {
	words := make([]string, 0, len(st.frames))
	for _, f := range st.frames {
		words = append(words, f.part.Type)
	}
	return brief(strings.Join(words, " "))
}
