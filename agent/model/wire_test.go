package model

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"bellhop/agent"
	"bellhop/protocol"
)

func TestAnswersThatAreNoStream(t *testing.T) {
	t.Parallel()
	json := http.Header{"Content-Type": {"application/json"}}
	html := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	const page = "<!doctype html><title>Sign in</title>"
	location := func(to string) http.Header { return http.Header{"Location": {to}, "Content-Type": {"text/html"}} }
	for name, c := range map[string]struct {
		status     int
		header     http.Header
		body, want string
		code       protocol.Code
	}{
		"a message": {
			200, json, `{"id":"1","content":[{"type":"text","text":"hi"}],"choices":[{"message":{"content":"hi"}}]}`,
			"http://127.0.0.1:8000 answers with application/json instead of a stream", protocol.CodeBadGateway,
		},
		"a page": {
			200, html, page, "http://127.0.0.1:8000 answers with text/html instead of a stream", protocol.CodeBadGateway,
		},
		"no media type": {
			200,
			http.Header{},
			anthropicStart + anthropicText + anthropicEnd,
			"http://127.0.0.1:8000 answers with no media type instead of a stream", protocol.CodeBadGateway,
		},
		"nothing": {
			204,
			http.Header{},
			"",
			"http://127.0.0.1:8000 answers with no media type instead of a stream", protocol.CodeBadGateway,
		},
		"an error with status 200": {
			200, json, `{"error":{"type":"invalid_request_error","message":"no such tool"}}`,
			"The model's provider failed within its answer: no such tool", protocol.CodeUnavailable,
		},
		"an error": {
			400, json, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too large"}}`,
			"The model's provider refused the request (400): max_tokens: too large", protocol.CodeInvalid,
		},
		"an error of OpenAI": {
			400, json, `{"error":{"message":"bad","type":"invalid_request_error","param":null,"code":"x"}}`,
			"The model's provider refused the request (400): bad", protocol.CodeInvalid,
		},
		"an error with a number as its type": {
			400, json, `{"error":{"type":7,"message":"bad"}}`,
			"The model's provider refused the request (400): bad", protocol.CodeInvalid,
		},
		"an error that is a text": {
			400, json, `{"error":"model is loading"}`,
			"The model's provider refused the request (400): model is loading", protocol.CodeInvalid,
		},
		"an error in a stream": {
			400, eventStream, `{"error":{"message":"bad"}}`, "The model's provider refused the request (400): bad", protocol.CodeInvalid,
		},
		"an error without a reason": {
			400, json, `{"detail":[]}`, "The model's provider refused the request (400): no reason given", protocol.CodeInvalid,
		},
		"a page as an error": {
			418, html, page, "The model's provider refused the request (418): no reason given", protocol.CodeInvalid,
		},
		"an endless error": {
			400, json, `{"error":{"message":"` + strings.Repeat("x", maxErrorBody) + `"}}`,
			"The model's provider refused the request (400): no reason given", protocol.CodeInvalid,
		},
		"an error with the key": {
			400, json, `{"error":{"message":"what is ` + key + `?"}}`,
			"The model's provider refused the request (400): what is [key]?", protocol.CodeInvalid,
		},
		"a wrong model": {
			404, json, `{"error":{"message":"no"}}`, "http://127.0.0.1:8000 does not know the model mock-1 (404)", protocol.CodeNotFound,
		},
		"a redirect": {
			302, location("https://login.example/sign-in?token=" + key), page,
			"http://127.0.0.1:8000 redirects to https://login.example/sign-in (302)", protocol.CodeInvalid,
		},
		"a redirect that keeps the method": {
			307, location("/v2/messages"), page,
			"http://127.0.0.1:8000 redirects to http://127.0.0.1:8000/v2/messages (307)", protocol.CodeInvalid,
		},
		"a redirect to nowhere": {
			301, http.Header{}, "", "http://127.0.0.1:8000 redirects to another address (301)", protocol.CodeInvalid,
		},
	} {
		for _, provider := range []string{"anthropic", "openai"} {
			t.Run(name+" "+provider, func(t *testing.T) {
				m := answered(t, provider, c.status, c.header, func() io.Reader { return strings.NewReader(c.body) })
				got, err := complete(t.Context(), m, prompt("hi"))
				if got != "" || err == nil || err.Error() != c.want || protocol.CodeOf(err) != c.code {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
	}
}

// The pause that a provider asks for is honoured also within a stream and beside a body that breaks off.
func TestAnErrorKeepsItsHeader(t *testing.T) {
	t.Parallel()
	header := http.Header{"Content-Type": {"text/event-stream"}, "Retry-After-Ms": {"2500"}}
	const event = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`
	within := func() io.Reader { return strings.NewReader("event: error\ndata: " + event + "\n\n") }
	broken := func() io.Reader {
		return io.MultiReader(strings.NewReader(event[:20]), errReader{io.ErrUnexpectedEOF})
	}
	for _, provider := range []string{"anthropic", "openai"} {
		for want, m := range map[string]*Model{
			"!The model's provider failed within its answer: slow down; trying again in 2.5s": answered(
				t, provider, http.StatusOK, header, within),
			"!The model's provider has too many requests (429): no reason given; trying again in 2.5s": answered(
				t, provider, http.StatusTooManyRequests, header, broken),
		} {
			if got, err := complete(t.Context(), m, prompt("hi")); got != want || !errors.Is(err, errStop) {
				t.Errorf("%s: %s, %v", provider, got, err)
			}
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestAConnectionThatIsLostWithinTheStream(t *testing.T) {
	t.Parallel()
	lost := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	for provider, stream := range map[string]string{
		"anthropic": anthropicStart + anthropicText + anthropicEnd, "openai": choice(`{"content":"Hello"}`, `"stop"`),
	} {
		for after, want := range map[string]string{
			"":     "!http://127.0.0.1:8000 cannot be reached: connection reset by peer; trying again in 1s",
			stream: "http://127.0.0.1:8000 cannot be reached: connection reset by peer",
		} {
			m := answered(t, provider, 200, eventStream, func() io.Reader {
				return io.MultiReader(strings.NewReader(after), errReader{lost})
			})
			got, err := complete(t.Context(), m, prompt("hi"))
			if after == "" && got != want || after != "" && (err == nil || err.Error() != want) {
				t.Errorf("%s after %q: %q, %v", provider, after, got, err)
			}
		}
	}
}

// net/http refuses a key with a line break.
func TestErrorsOfTheConnectionNeverContainTheKey(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"anthropic", "openai"} {
		m, err := Open(provider+"/x", Options{BaseURL: "http://127.0.0.1:1", Key: key + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Completer.(*completer).dialect.try(t.Context(), nil, nil, func(agent.Delta) bool { return true })
		var address *url.Error
		if !errors.As(err, &address) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

func TestEveryRequestHasTheHeadersOfAStream(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]http.Header{
		"anthropic": {"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}},
		"openai":    {"Authorization": {"Bearer " + key}},
	} {
		want.Set("Accept", "text/event-stream")
		want.Set("Content-Type", "application/json")
		want.Set("User-Agent", "bellhop")
		r, body := requested(t, provider+"/x", Options{Key: key}, []agent.Message{prompt("<&>")}, nil)
		if len(r.Header) != len(want) || r.ContentLength != int64(len(body)) || !strings.Contains(string(body), `"<&>"`) {
			t.Errorf("%s: %v, %s", provider, r.Header, body)
		}
		for name := range want {
			if r.Header.Get(name) != want.Get(name) {
				t.Errorf("%s: %s is %q", provider, name, r.Header.Get(name))
			}
		}
	}
}

func TestACallsArgumentsAreSentAsTheyCame(t *testing.T) {
	t.Parallel()
	_, body := requested(t, "anthropic/x", Options{Key: key}, recorded()["arguments"].conversation, nil)
	if want := `"n":12345678901234567890,"f":1.50`; !strings.Contains(string(body), want) {
		t.Errorf("sent %s", body)
	}
}

func TestAnAnswerThatIsNotWantedIsClosed(t *testing.T) {
	t.Parallel()
	for provider, stream := range map[string]string{
		"anthropic": anthropicStart + anthropicText + anthropicEnd, "openai": choice(`{"content":"Hello"}`, "null"),
	} {
		var body *closing
		m := answered(t, provider, http.StatusOK, eventStream, nil)
		m.Completer.(*completer).opts.Client.Transport = transport(func(*http.Request) *http.Response {
			a := answer(http.StatusOK, eventStream, "")
			body = &closing{Reader: strings.NewReader(stream)}
			a.Body = body
			return a
		})
		for delta, err := range m.Complete(t.Context(), []agent.Message{prompt("hi")}, nil) {
			if delta.Text != "Hello" || err != nil {
				t.Errorf("%s: %+v, %v", provider, delta, err)
			}
			break
		}
		if !body.closed {
			t.Errorf("%s: the body is open", provider)
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/elsewhere" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	for name, path := range both {
		asked.Store(0)
		m, err := Open(name, Options{BaseURL: server.URL + path, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		_, err = complete(t.Context(), m, prompt("hi"))
		if want := server.URL + " redirects to " + server.URL + "/elsewhere (307)"; err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}
