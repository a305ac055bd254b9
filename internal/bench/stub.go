package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"bellhop/protocol"
)

// transport is used by this process only.
var transport = &http.Transport{MaxIdleConnsPerHost: 64}

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
	return successful(transport.RoundTrip(req))
}

// successful returns the body of a response unless its status is an error.
func successful(resp *http.Response, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return nil, errors.Join(fmt.Errorf("the server answered %s: %s", resp.Status, answer), err)
}

// readAll returns the content of a reader and closes it.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	return io.ReadAll(body)
}

func answers(ctx context.Context, url string) bool {
	body, err := request(ctx, http.MethodGet, url, "", nil)
	return err == nil && body.Close() == nil
}

// answer writes a value to a client, which may have disconnected.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// decoded reads a request into v, or responds with an error.
func decoded(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(r.Body).Decode(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// freeAddress returns an address on which no program listens at present.
func freeAddress() string {
	l := listen()
	defer l.Close()
	return l.Addr().String()
}

func listen() net.Listener {
	return must(new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"))
}

// serve runs a handler in this process and returns its URL. At the end of the run its
// requests are cut, and their handlers waited for.
func (r *run) serve(h http.Handler) string {
	listener := listen()
	var handlers sync.WaitGroup
	server, ended := &http.Server{ReadHeaderTimeout: startLimit}, make(chan error, 1)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		h.ServeHTTP(w, r)
	})
	go func() { ended <- server.Serve(listener) }()
	r.onClose(func() error {
		err := server.Close()
		handlers.Wait()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	})
	return "http://" + listener.Addr().String()
}

// stub replaces the unmeasured side: a host that opens every session, and a broker
// that acknowledges every event.
type stub struct {
	url      string   // of the host
	hook     string   // of the broker
	webhooks sync.Map // of the sessions, by id
}

func (r *run) stub() *stub {
	s, mux := &stub{}, http.NewServeMux()
	mux.HandleFunc("POST /session", s.open)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, struct{}{}) })
	mux.HandleFunc("POST /webhook", s.take)
	s.url = r.serve(mux)
	s.hook = s.url + "/webhook"
	return s
}

// open returns no capability, so the broker does not request events from this host.
func (s *stub) open(w http.ResponseWriter, r *http.Request) {
	var req protocol.OpenSessionRequest
	if decoded(w, r, &req) {
		s.webhooks.Store(req.SessionID, req.WebhookURL)
		answer(w, map[string]string{"token": protocol.NewID()})
	}
}

// webhook returns the webhook URL of a session.
func (s *stub) webhook(sessionID string) string {
	url, opened := s.webhooks.Load(sessionID)
	if !opened {
		check(fmt.Errorf("session %s was not opened", sessionID))
	}
	return url.(string)
}

// take acknowledges events like a broker that has stored them.
func (s *stub) take(w http.ResponseWriter, r *http.Request) {
	var body struct {
		protocol.Cursor
		Events []protocol.Cursor `json:"events"`
	}
	if !decoded(w, r, &body) {
		return
	}
	taken := append([]protocol.Cursor{body.Cursor}, body.Events...)
	answer(w, protocol.IngestResponse{Success: true, Accepted: max(1, len(body.Events)), Cursor: &taken[len(taken)-1]})
}
