package hosts_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/protocol"
)

// slowly is a reader that waits before its first byte.
type slowly struct {
	wait time.Duration
	from io.Reader
}

func (s *slowly) Read(p []byte) (int, error) {
	<-time.After(s.wait)
	return s.from.Read(p[:min(len(p), 4)])
}

func TestTheTimeOfTheUploadDoesNotCountForTheHost(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		_, _ = w.Write(got)
	}))
	const limit = 50 * time.Millisecond
	c := newClient(t, hosts.Options{Timeout: limit})
	answer, err := c.Relay(t.Context(), target(url), &broker.RelayRequest{
		SessionID: "s1", Method: "POST", Header: http.Header{}, Body: &slowly{3 * limit, strings.NewReader("promptprompt")}, Length: 12,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	<-time.After(2 * limit) // the stream has no time limit either
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != "promptprompt" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAHostThatDoesNotAnswerAStreamTimesOut(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	_, err := newClient(t, hosts.Options{Timeout: 20 * time.Millisecond}).Relay(t.Context(), target(url), &broker.RelayRequest{
		SessionID: "s1", Method: "POST", Header: http.Header{}, Body: strings.NewReader("x"), Length: 1,
	})
	wantError(t, err, protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server", Hint: "Check that the agent host runs and that the broker reaches its URL"})
}

func TestGuardedStreamsNeedTheirOwnClient(t *testing.T) {
	url := serve(t, answering(200, "x"))
	guarded := target(url)
	guarded.Guarded = true
	request := &broker.RelayRequest{SessionID: "s1", Method: "GET", Header: http.Header{}, Body: http.NoBody}
	if _, err := newClient(t, hosts.Options{Guarded: http.DefaultClient}).Relay(t.Context(), guarded, request); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused by the guard")
	guard := &http.Client{Transport: transportFunc(func(*http.Request) (*http.Response, error) { return nil, refused })}
	if _, err := newClient(t, hosts.Options{GuardedStreams: guard}).Relay(t.Context(), guarded, request); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A host may respond before it has received the complete prompt.
func TestAResponseBeforeTheEndOfThePromptIsRelayed(t *testing.T) {
	const limit = 200 * time.Millisecond
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		_ = control.Flush()
		_, _ = io.Copy(io.Discard, r.Body)
		<-time.After(4 * limit)
		_, _ = io.WriteString(w, "done")
	}))
	answer, err := newClient(t, hosts.Options{Timeout: limit}).Relay(t.Context(), target(url), &broker.RelayRequest{
		SessionID: "s1", Method: "POST", Header: http.Header{}, Body: &slowly{limit / 2, strings.NewReader("promptprompt")}, Length: 12,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != "done" {
		t.Errorf("got %q, %v", got, err)
	}
}
