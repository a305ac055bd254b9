package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/internal/testenv/basic"
)

// streams changes how a server answers POST /stream; turn counts the requests from 1.
func streams(
	act func(w http.ResponseWriter, r *http.Request, turn int32, next http.Handler),
) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var turns atomic.Int32
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/stream/") && r.Method == http.MethodPost {
				act(w, r, turns.Add(1), next)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// wordless is a turn without text.
func wordless(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: {\"type\":\"finish\",\"finishReason\":\"stop\"}\n\n")
}

var (
	anyPassword = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/session" {
				r.Header.Set("Authorization", "Bearer "+password)
			}
			next.ServeHTTP(w, r)
		})
	}
	anyToken = streams(func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) { wordless(w) })
	onlyHTML = func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	}
	pageAsStream = streams(func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
		_, _ = io.WriteString(w, "<html>")
	})
	twoEnds = streams(func(w http.ResponseWriter, r *http.Request, _ int32, next http.Handler) {
		next.ServeHTTP(w, r)
		wordless(w)
	})
	moreText = streams(func(w http.ResponseWriter, r *http.Request, _ int32, next http.Handler) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"text-delta\",\"id\":\"more\",\"text\":\"More. \"}\n\n")
		next.ServeHTTP(w, r)
	})
	silent = streams(func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"text-delta\",\"id\":\"1\",\"text\":\"Hello\"}\n\n"+
			"data: {\"type\":\"finish\",\"finishReason\":\"stop\"}\n\n")
	})
	preflightTurn = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodOptions {
				w.Header().Set("Content-Type", "text/event-stream")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	oneTurn = streams(func(w http.ResponseWriter, r *http.Request, turn int32, next http.Handler) {
		if turn > 1 {
			wordless(w)
			return
		}
		next.ServeHTTP(w, r)
	})
)

// Each fault is found by the check that names its rule, in words that need no source.
func TestBasicFindsFaults(t *testing.T) {
	t.Parallel()
	unchanged := func(next http.Handler) http.Handler { return next }
	for name, c := range map[string]struct {
		check, want string
		spoil       func(http.Handler) http.Handler
	}{
		"any password opens a session": {"the password", "anyone could run the agent", anyPassword},
		"no token":                     {"a session", `must answer 200 {"token":"…"}`, onlyHTML},
		"a preflight is a turn":        {"pages", "answered twice", preflightTurn},
		"any token opens a stream":     {"the stream token", "anyone could read and prompt", anyToken},
		"a page instead of a stream":   {"a turn", "text/event-stream", pageAsStream},
		"two ends":                     {"a turn", "2 parts of type finish", twoEnds},
		"a turn without text":          {"a turn", "the stream has no text", anyToken},
		"a text that is not posted":    {"the texts", "was not posted", silent},
		"no event at all":              {"the end of a turn", "nothing of the turn was posted", silent},
		"a part that is not posted": {
			"the texts", `streamed is "More. Let me look.You said: Say hello", posted is "Let me look.You said: Say hello"`, moreText,
		},
		"events are not repeated": {
			"a webhook that fails", `streamed is "Let me look.You said: Say hello", posted is "You said: Say hello"`, unchanged,
		},
		"no finish event":                   {"the end of a turn", "15 minutes", unchanged},
		"no CORS":                           {"pages", "relay", unchanged},
		"one turn for each session":         {"a second turn", "a turn has no text", oneTurn},
		"nothing works after a reader left": {"a reader that leaves", "after a reader left", oneTurn},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			server := httptest.NewServer(c.spoil(&basic.Host{Password: password, Client: client}))
			t.Cleanup(server.Close)
			options := BasicOptions{URL: server.URL, Password: password, only: []string{c.check}}
			if strings.Contains(c.want, "posted") {
				options.Patience = 100 * time.Millisecond
			}
			report := checkBasic(t, options)
			found, _ := json.Marshal(report.Checks)
			if report.Passed > 0 || !strings.Contains(strings.Join(report.Checks[0].Problems, " "), c.want) {
				t.Errorf("found %s", found)
			}
		})
	}
}

func TestADifferenceOfTextsIsShownWhereItIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 1000)
	for _, c := range []struct{ streamed, posted, want string }{
		{"Hello ", "Hello", `streamed is "Hello ", posted is "Hello"`},
		{"Hello", "HelloHello", `streamed is "Hello", posted is "HelloHello"`},
		{
			long + "x", long + "y" + long, `streamed is "…` + long[:80] + `x", posted is "…` + long[:80] + "y" + long[:318] + `…"`,
		},
	} {
		if got := textDifference(c.streamed, c.posted); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestABasicHostKeepsTheRules(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&basic.Host{Password: password})
	t.Cleanup(server.Close)
	options := BasicOptions{URL: server.URL, Password: password}
	options.only = []string{"the texts", "a turn", "a second turn", "the stream token", "a reader that leaves"}
	if report := checkBasic(t, options); report.Failed > 0 || report.Passed != len(options.only) {
		t.Errorf("a basic host fails: %+v", report.Checks)
	}
}
