package opencode_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fake is a server with OpenCode's interface, version 1. The test controls it.
type fake struct {
	*httptest.Server
	t *testing.T

	// onPrompt is called in a new goroutine for each prompt and each command.
	onPrompt func()
	commands string // the answer about commands; "" = the web client, as for all unknown paths
	// onCall may respond to a request instead of the fake. The path does not
	// contain the session.
	onCall func(w http.ResponseWriter, method, path string) bool

	mu        sync.Mutex
	changed   chan struct{} // closed at the next call
	calls     []string      // method, path and body of every call that changes something
	prompts   []string
	running   chan struct{} // of the newest prompt; closed when it is answered
	worked    bool          // the session was busy with it
	streams   map[chan string]bool
	connects  int
	refuse    bool // the event stream is refused
	session   string
	gone      bool // the session is unknown
	busy      map[string]json.RawMessage
	asked     map[string]json.RawMessage // permissions and questions
	messages  map[string]json.RawMessage
	children  json.RawMessage
	group     sync.WaitGroup
	ranTools  []string // tools that ran after a reply "once"
	passwords map[string]bool
}

const ourSession = "ses_1"

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		t: t, session: ourSession, changed: make(chan struct{}), streams: map[chan string]bool{},
		busy: map[string]json.RawMessage{}, asked: map[string]json.RawMessage{}, messages: map[string]json.RawMessage{},
		children: json.RawMessage("[]"), passwords: map[string]bool{},
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.cut()
		f.CloseClientConnections()
		f.Close()
		f.group.Wait()
	})
	return f
}

func (f *fake) address() string { return strings.TrimPrefix(f.URL, "http://") }

// emit sends an event to all streams and applies its effect.
func (f *fake) emit(kind string, properties any) {
	encoded, err := json.Marshal(properties)
	if err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var p struct {
		ID        string `json:"id"`
		SessionID string `json:"sessionID"`
		Status    struct{ Type string }
	}
	_ = json.Unmarshal(encoded, &p)
	switch {
	case kind == "session.status" && p.Status.Type != "idle":
		var status struct{ Status json.RawMessage }
		_ = json.Unmarshal(encoded, &status)
		f.busy[p.SessionID] = status.Status
	case kind == "session.status", kind == "session.idle":
		delete(f.busy, p.SessionID)
	case strings.HasSuffix(kind, ".asked"):
		f.asked[p.ID] = encoded
	}
	f.answer(false)
	for stream := range f.streams {
		stream <- fmt.Sprintf("data: {\"id\":\"evt\",\"type\":%q,\"properties\":%s}\n\n", kind, encoded)
	}
}

// cut ends the streams.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for stream := range f.streams {
		close(stream)
		delete(f.streams, stream)
	}
}

// set changes the responses of the fake.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.answer(false)
}

// answer answers the newest prompt when its work has ended, or in any case. The caller holds f.mu.
func (f *fake) answer(anyway bool) {
	_, busy := f.busy[f.session]
	if f.worked = f.worked || busy; f.running != nil && (anyway || f.worked && !busy) {
		close(f.running)
		f.running = nil
	}
}

// until waits until the condition holds for the calls so far.
func (f *fake) until(what func() bool) {
	f.t.Helper()
	for {
		f.mu.Lock()
		done, changed := what(), f.changed
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-f.t.Context().Done():
			return
		}
	}
}

// called reports whether a call was made. The caller holds f.mu.
func (f *fake) called(prefix string) bool {
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			return true
		}
	}
	return false
}

func (f *fake) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, ok := r.BasicAuth()
	if !ok || user != "opencode" || password == "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, _ := io.ReadAll(r.Body)
	path := strings.Replace(r.URL.Path, "/"+f.session, "", 1)
	if f.onCall != nil && f.onCall(w, r.Method, path) {
		return
	}
	if r.Method == http.MethodGet {
		f.get(w, r, path)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.notify()
	f.passwords[password] = true
	f.calls = append(f.calls, strings.TrimSpace(r.Method+" "+path+" "+string(body)))
	if path == "/session/message" || path == "/session/command" {
		f.prompt(w, r, path, body)
		return
	}
	f.post(w, path, body)
}

// prompt responds when the session has done what the prompt asks for. The caller holds f.mu.
func (f *fake) prompt(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	if path == "/session/message" {
		f.prompts = append(f.prompts, string(body))
	}
	if f.onPrompt != nil {
		running := make(chan struct{})
		f.running, f.worked = running, false
		f.group.Go(f.onPrompt)
		f.notify()
		f.mu.Unlock()
		select {
		case <-running:
		case <-r.Context().Done():
		}
		f.mu.Lock()
	}
	reply(w, `{}`)
}

func (f *fake) get(w http.ResponseWriter, r *http.Request, path string) {
	if path == "/event" {
		f.stream(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case path == "/global/health":
		reply(w, `{"healthy":true,"version":"1.18.33"}`)
	case path == "/session" && !f.gone:
		reply(w, `{"id":"`+f.session+`"}`)
	case path == "/session/status":
		encoded, _ := json.Marshal(f.busy)
		reply(w, string(encoded))
	case path == "/session/message":
		reply(w, string(or(f.messages[f.session], "[]")))
	case path == "/session/children":
		reply(w, string(f.children))
	case path == "/permission", path == "/question":
		reply(w, f.list(path))
	case path == "/command" && f.commands != "":
		reply(w, f.commands)
	case strings.HasSuffix(path, "/message"):
		reply(w, string(or(f.messages[strings.Split(path, "/")[2]], "[]")))
	case strings.HasSuffix(path, "/children"):
		reply(w, `[]`)
	case strings.HasPrefix(path, "/session"):
		w.WriteHeader(http.StatusNotFound)
	default: // all other paths return the web client
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html>")
	}
}

func (f *fake) list(path string) string {
	list := []json.RawMessage{}
	for id, asked := range f.asked {
		if strings.HasPrefix(id, "per") == (path == "/permission") {
			list = append(list, asked)
		}
	}
	encoded, _ := json.Marshal(list)
	return string(encoded)
}

func (f *fake) post(w http.ResponseWriter, path string, body []byte) {
	parts := strings.Split(path, "/")
	switch {
	case path == "/session":
		f.gone = false
		reply(w, `{"id":"`+f.session+`"}`)
	case path == "/session/abort":
		f.answer(true)
		reply(w, `true`)
	case len(parts) == 4 && (parts[1] == "permission" || parts[1] == "question"):
		if _, open := f.asked[parts[2]]; !open {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		f.settle(parts[2], strings.Contains(string(body), `"reject"`))
		if strings.Contains(string(body), `"once"`) {
			f.ranTools = append(f.ranTools, parts[2])
		}
		reply(w, `true`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// settle ends a request. A rejection ends all requests of its session.
func (f *fake) settle(id string, rejected bool) {
	var this, other struct {
		SessionID string `json:"sessionID"`
	}
	_ = json.Unmarshal(f.asked[id], &this)
	delete(f.asked, id)
	for also, asked := range f.asked {
		_ = json.Unmarshal(asked, &other)
		if rejected && strings.HasPrefix(also, "per") && other == this {
			delete(f.asked, also)
		}
	}
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if f.refuse {
		f.connects++
		f.notify()
		f.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	events := make(chan string, 1000)
	f.streams[events] = true
	f.connects++
	f.notify()
	f.mu.Unlock()
	defer f.set(func() { delete(f.streams, events) })
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
	control := http.NewResponseController(w)
	for {
		_ = control.Flush()
		select {
		case e, open := <-events:
			if !open {
				return
			}
			_, _ = io.WriteString(w, e)
		case <-r.Context().Done():
			return
		}
	}
}

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func or(found json.RawMessage, otherwise string) json.RawMessage {
	if found == nil {
		return json.RawMessage(otherwise)
	}
	return found
}
