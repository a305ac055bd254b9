package hosts_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/internal/testenv"
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

// prompts serves a host in memory, inside a bubble, and returns the answer to a prompt of 12 bytes, which the
// browser sends with a pause before each 4.
func prompts(t *testing.T, limit, pause time.Duration, host http.HandlerFunc) *http.Response {
	t.Helper()
	listener := testenv.NewPipes()
	server := &http.Server{Handler: host}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	client := hosts.New(hosts.Options{
		Timeout: limit, HTTP: &http.Client{Transport: &http.Transport{DialContext: listener.Dial}},
	})
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close()
		<-ended
		time.Sleep(time.Minute) // until the goroutines that still sleep have ended
	})
	answer, err := client.Relay(t.Context(), target("http://host.example"), &broker.RelayRequest{
		SessionID: "s1", Method: "POST", Header: http.Header{}, Length: 12,
		Body: &slowly{pause, strings.NewReader("promptprompt")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestTheTimeOfTheUploadDoesNotCountForTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Second
		answer := prompts(t, limit, 3*limit, func(w http.ResponseWriter, r *http.Request) {
			got, _ := io.ReadAll(r.Body)
			_, _ = w.Write(got)
		})
		defer func() { _ = answer.Body.Close() }()
		time.Sleep(2 * limit) // the stream has no time limit
		if got, err := io.ReadAll(answer.Body); err != nil || string(got) != "promptprompt" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestAHostThatDoesNotAnswerAStreamTimesOut(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	_, err := newClient(t, hosts.Options{Timeout: 20 * time.Millisecond}).Relay(t.Context(),
		target(url), &broker.RelayRequest{
			SessionID: "s1", Method: "POST", Header: http.Header{}, Body: strings.NewReader("x"), Length: 1,
		})
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host did not answer within 0.02 s",
		Hint: "It is busy, or the network between it and the broker holds the answer up: try again",
	})
}

func TestGuardedStreamsNeedTheirOwnClient(t *testing.T) {
	t.Parallel()
	url := serve(t, answering(200, "x"))
	guarded := target(url)
	guarded.Guarded = true
	request := &broker.RelayRequest{SessionID: "s1", Method: "GET", Header: http.Header{}, Body: http.NoBody}
	if _, err := newClient(t, hosts.Options{Guarded: http.DefaultClient}).Relay(t.Context(), guarded,
		request); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused by the guard")
	guard := &http.Client{Transport: transportFunc(func(*http.Request) (*http.Response, error) { return nil, refused })}
	if _, err := newClient(t, hosts.Options{GuardedStreams: guard}).Relay(t.Context(), guarded,
		request); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A host may respond before it has received the complete prompt.
func TestAResponseBeforeTheEndOfThePromptIsRelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Second
		answer := prompts(t, limit, limit/2, func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			_ = control.EnableFullDuplex()
			_ = control.Flush()
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(4 * limit)
			_, _ = io.WriteString(w, "done")
		})
		defer func() { _ = answer.Body.Close() }()
		if got, err := io.ReadAll(answer.Body); err != nil || string(got) != "done" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
