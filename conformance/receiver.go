package conformance

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// maxPost is the largest body that the webhook accepts.
const maxPost = 1 << 20

// receiver is a broker's webhook, without the other parts of a broker.
type receiver struct {
	url    string
	server *http.Server
	secret []byte

	mu    sync.Mutex
	tasks map[string]*task
}

// task holds the events received for one session.
type task struct {
	events   []posted // accepted events, without gaps per epoch
	cursor   protocol.Cursor
	trouble  []string // requests that a broker would not understand
	gaps     []string // posts with an earlier event missing
	refusals int      // number of requests still to be answered 503
	rewind   bool     // answer the next request with a gap at the start
	rewound  bool
	resent   bool          // the first event was posted again after the gap
	came     chan struct{} // closed and replaced when something was received
}

type posted struct {
	protocol.Event
	raw []byte
}

// listen opens the receiver; public is its URL for the host, "" for the listener's own address.
func listen(address, public string) (*receiver, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	if err != nil {
		return nil, err
	}
	r := &receiver{url: strings.TrimSuffix(public, "/"), secret: make([]byte, 32), tasks: map[string]*task{}}
	_, _ = rand.Read(r.secret) // never fails
	if r.url == "" {
		r.url = "http://" + listener.Addr().String()
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

func (r *receiver) close() { _ = r.server.Close() }

// webhook returns the URL for a session's events.
func (r *receiver) webhook(session, turn string) string {
	signed, _, err := token.SignWebhook(r.secret, session, turn, time.Now())
	if err != nil {
		panic(err) // our own ids always work
	}
	return r.url + "/api/agent/webhook?token=" + signed
}

func (r *receiver) task(session string) *task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taskLocked(session)
}

func (r *receiver) taskLocked(session string) *task {
	t := r.tasks[session]
	if t == nil {
		t = &task{came: make(chan struct{})}
		r.tasks[session] = t
	}
	return t
}

// ServeHTTP responds as a broker would.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set(protocol.HeaderBroker, brokerID)
	w.Header().Set(protocol.HeaderRequest, req.Header.Get(protocol.HeaderRequest))
	body, err := io.ReadAll(io.LimitReader(req.Body, maxPost+1))
	if err != nil {
		return
	}
	session := sessionOf(body)
	if strings.HasSuffix(req.URL.Path, "/renew") {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "This receiver renews nothing", "code": "unauthorized"})
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.taskLocked(session)
	defer func() {
		close(t.came)
		t.came = make(chan struct{})
	}()
	claims, err := token.Verify(req.URL.Query().Get("token"), r.secret, time.Now())
	switch {
	case req.Method != http.MethodPost || req.URL.Path != "/api/agent/webhook":
		t.trouble = append(t.trouble, "a request to "+req.Method+" "+req.URL.Path)
		reply(w, http.StatusNotFound, map[string]string{"error": "Not found", "code": "not_found"})
	case err != nil || claims.TaskID != session:
		t.trouble = append(t.trouble, "a post with another session's token, or none")
		reply(w, http.StatusUnauthorized, map[string]string{"error": "Invalid or expired token", "code": "unauthorized"})
	case len(body) > maxPost:
		t.trouble = append(t.trouble, "a post over 1 MiB")
		reply(w, http.StatusRequestEntityTooLarge, map[string]string{"error": "Too large", "code": "too_large"})
	default:
		t.take(w, body)
	}
}

func sessionOf(body []byte) string {
	var named struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(body, &named) // "" names no session, which is reported separately
	return named.SessionID
}

func (t *task) take(w http.ResponseWriter, body []byte) {
	if t.refusals > 0 {
		t.refusals--
		w.Header().Set("Retry-After", "0")
		reply(w, http.StatusServiceUnavailable, map[string]string{"error": "Later", "code": "unavailable"})
		return
	}
	events, err := eventsOf(body)
	if err != nil {
		t.trouble = append(t.trouble, fmt.Sprintf("a post that cannot be read: %v: %s", err, brief(string(body))))
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error(), "code": "invalid"})
		return
	}
	if t.rewind {
		t.rewind, t.rewound = false, true
		t.gap(w, protocol.Cursor{Epoch: events[0].Epoch})
		return
	}
	t.resent = t.resent || t.rewound && events[0].Seq == 1
	accepted, duplicates := 0, 0
	for _, e := range events {
		switch at := (protocol.Cursor{Epoch: e.Epoch, Seq: e.Seq}); {
		case at == protocol.Cursor{Epoch: t.cursor.Epoch, Seq: t.cursor.Seq + 1}, e.Epoch > t.cursor.Epoch && e.Seq == 1:
			t.events, t.cursor = append(t.events, e), at
			accepted++
		case at.Less(protocol.Cursor{Epoch: t.cursor.Epoch, Seq: t.cursor.Seq + 1}):
			duplicates++
		default:
			t.gaps = append(t.gaps,
				fmt.Sprintf("%d-%d (%s) came when %d-%d was next", e.Epoch, e.Seq, e.Type, t.cursor.Epoch, t.cursor.Seq+1))
			t.gap(w, t.cursor)
			return
		}
	}
	cursor := t.cursor
	reply(w, http.StatusOK, protocol.IngestResponse{
		Success: true, Accepted: accepted, Duplicates: duplicates, Cursor: &cursor,
	})
}

func (t *task) gap(w http.ResponseWriter, at protocol.Cursor) {
	reply(w, http.StatusConflict, map[string]any{"error": "Events are missing", "code": protocol.CodeGap, "cursor": at})
}

func eventsOf(body []byte) ([]posted, error) {
	var batch protocol.WebhookBatch
	if err := json.Unmarshal(body, &batch); err != nil {
		return nil, err
	}
	raws := batch.Events
	if len(raws) == 0 {
		raws = []json.RawMessage{body}
	}
	if len(raws) > 100 {
		return nil, errors.New("more than 100 events")
	}
	events := make([]posted, 0, len(raws))
	for i, raw := range raws {
		e, err := protocol.ParseEvent(raw)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		if e.EventID == "" || e.Seq <= 0 || e.Epoch <= 0 {
			return nil, fmt.Errorf("event %d is without eventId, epoch or seq", i)
		}
		events = append(events, posted{*e, slices.Clone(raw)})
	}
	return events, nil
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the host may have disconnected
}

// until waits until holds returns true for the session's events.
func (r *receiver) until(
	s *scope, session string, patience time.Duration, what string, holds func([]posted) bool,
) []posted {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		t := r.taskLocked(session)
		events, came, gaps, trouble := slices.Clone(t.events), t.came, slices.Clone(t.gaps), slices.Clone(t.trouble)
		r.mu.Unlock()
		if holds(events) {
			return events
		}
		select {
		case <-came:
		case <-s.ctx.Done():
			s.stopf("ended while %s was awaited", what)
		case <-limit.C:
			s.stopf("%s was not posted to the webhook within %s; it has %s%s%s", what, patience, listed(events),
				tail("; a gap: ", gaps), tail("; trouble: ", trouble))
		}
	}
}

func tail(label string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("%s%s (%d times)", label, list[len(list)-1], len(list))
}

// listed returns an outline of events.
func listed(events []posted) string {
	if len(events) == 0 {
		return "nothing"
	}
	words := make([]string, 0, len(events))
	for _, e := range events {
		words = append(words, fmt.Sprintf("%d-%d %s", e.Epoch, e.Seq, e.Type))
	}
	return brief(strings.Join(words, ", "))
}

func finished(turn string) func([]posted) bool {
	return func(events []posted) bool {
		return slices.ContainsFunc(events, func(e posted) bool { return e.Type == protocol.EventFinish && e.TurnID == turn })
	}
}
