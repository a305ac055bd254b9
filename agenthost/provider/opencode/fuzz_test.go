package opencode

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/provider/stdio"
)

// transport answers the requests of a client.
type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// turnOf returns a turn of the session s1 whose program answers with answer.
func turnOf(t *testing.T, out *providertest.Recorder, answer transport) *turn {
	t.Helper()
	c := newClient("http://127.0.0.1", "password")
	c.http.Transport = answer
	exchange := newTurn(stdio.NewTurn(t.Context(), "fuzz", slog.New(slog.DiscardHandler), out), &agent{})
	exchange.program, exchange.id = &program{client: c}, "s1"
	exchange.sessions["s1"] = true
	return exchange
}

// The program names other parents without end: each is asked for once, and the host goes on.
func TestParentsOfASessionAreNotFollowedWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, parent := range map[string]func(id string) string{
		"itself":        func(id string) string { return id },
		"another again": func(id string) string { return id + "x" },
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			exchange := turnOf(t, &providertest.Recorder{}, func(r *http.Request) (*http.Response, error) {
				if requests++; requests > 2*maxParents {
					return nil, errors.New("too many requests")
				}
				id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
				body, err := json.Marshal(session{ID: id, ParentID: parent(id)})
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(string(body))),
				}, err
			})
			if exchange.ours(t.Context(), "other") || requests > maxParents {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// Whatever a program sends as events, every call has a result and every block is closed.
func FuzzHandle(f *testing.F) {
	const part = `{"type":"message.part.updated","properties":{"part":{"sessionID":"s1","messageID":"m","id":"p",`
	for _, events := range []string{
		`{"type":"message.updated","properties":{"info":{"id":"m","sessionID":"s1",` +
			`"role":"assistant","time":{"created":1}}}}` + "\n" +
			part + `"type":"text","text":"a"}}}` + "\n" +
			`{"type":"message.part.delta","properties":{"sessionID":"s1","partID":"p","field":"text","delta":"b"}}`,
		part + `"type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{}}}}}` + "\n" +
			part + `"type":"tool","tool":"bash","callID":"c","state":{"status":"error","error":"x"}}}}`,
		part + `"type":"step-finish","reason":"stop","tokens":{"input":-1,"output":1e9}}}}`,
		`{"type":"session.created","properties":{"info":{"id":"s2","parentID":"s1"}}}` + "\n" +
			`{"type":"session.idle","properties":{"sessionID":"s1"}}`,
		`{"type":"session.error","properties":{"sessionID":"s1","error":{"name":"x","data":{"message":7}}}}`,
		"{}\n[]\n\x00\xff\n{\"type\":\"message.part.updated\"}\n" +
			"{\"type\":\"message.updated\",\"properties\":{\"info\":null}}",
	} {
		f.Add(events)
	}
	f.Fuzz(func(t *testing.T, events string) {
		out := &providertest.Recorder{}
		exchange := turnOf(t, out, func(*http.Request) (*http.Response, error) { return nil, errors.New("no program") })
		for line := range strings.Lines(events) {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || strings.HasSuffix(e.Type, ".asked") {
				continue // a question needs a program that is answered
			}
			if outcome, err := exchange.handle(t.Context(), incoming{event: e}); err != nil || outcome != nil {
				break
			}
		}
		exchange.CloseOut(exchange.closeText)
		out.Finish()
		if broken := out.Broken(true); len(broken) > 0 {
			t.Errorf("the contract is broken: %q", broken)
		}
	})
}
