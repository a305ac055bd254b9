package outbound_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/crypto/seal"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// service is a receiver that refuses what the documentation of the real one does not allow.
type service struct {
	*httptest.Server
	check func(r *http.Request, body []byte) (problem string)

	mu     sync.Mutex
	bodies []string
	signed []outboundtest.Request
}

func startService(t *testing.T, check func(r *http.Request, body []byte) string) *service {
	t.Helper()
	s := &service{check: check}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		problem := s.check(r, body)
		if err != nil || problem != "" {
			t.Errorf("%s: %s %v", body, problem, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, string(body))
		s.signed = append(s.signed, outboundtest.Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	}))
	t.Cleanup(s.Close)
	return s
}

// emitAll registers an endpoint and emits one event of each type.
func (p *kit) emitAll(url string, format protocol.WebhookFormat) seal.Secret {
	p.Helper()
	e, err := p.worker.Register(p.Context(), p.user, outbound.EndpointRequest{
		Kind: outbound.KindTask, URL: url, Events: protocol.WebhookEvents(), Format: format,
	})
	p.must(err)
	for _, event := range []outbound.TaskEvent{
		{ID: "1", Type: protocol.WebhookInteractionOpened, TaskID: "t 1", Data: map[string]any{
			"title": "<!channel> & co", "prompt": "Run <https://evil.example|make>?", "kind": "confirm",
		}},
		{ID: "2", Type: protocol.WebhookTurnFinished, TaskID: "t1", Data: map[string]any{
			"title": strings.Repeat("ü", 200), "finishReason": "error",
		}},
		{ID: "3", Type: protocol.WebhookTurnFinished, TaskID: "t1", Data: map[string]any{"title": "x", "reason": "aborted"}},
		{ID: "4", Type: protocol.WebhookFollowupAnswered, Data: map[string]any{"sourceId": "s1"}},
		{ID: "5", Type: protocol.WebhookFollowupFailed, Data: map[string]any{"sourceId": "s1", "failure": "none"}},
	} {
		event.At = p.clock.Now()
		p.must(p.worker.Emit(p.Context(), p.user, event))
	}
	p.sweep()
	return e.Secret
}

var allowedNtfyTopic = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

// https://docs.ntfy.sh/publish/#publish-as-json
func checkNtfy(r *http.Request, body []byte) string {
	var m struct {
		Topic, Title, Message, Click string
		Priority                     int
		Tags                         []string
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&m); {
	case err != nil:
		return err.Error()
	case r.URL.Path != "/" || r.URL.RawQuery != "auth=x":
		return "JSON is taken at the root only: " + r.URL.String()
	case !allowedNtfyTopic.MatchString(m.Topic):
		return "the topic is malformed"
	case m.Priority < 1 || m.Priority > 5 || m.Message == "" || len(m.Message) > 4096 || m.Title == "":
		return "a member is out of range"
	case !strings.HasPrefix(m.Click, "https://bell.example/base/"):
		return "click does not lead to the console"
	}
	return ""
}

func TestThePresetForNtfy(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	ntfy := startService(t, checkNtfy)
	secret := p.emitAll(ntfy.URL+"/my_topic?auth=x", protocol.FormatNtfy)
	verify(t, ntfy.signed, secret)
	slices.Sort(ntfy.bodies)
	const want = `{"topic":"my_topic","title":"<!channel> & co","message":"Run <https://evil.example|make>?","priority":4,` +
		`"tags":["question"],"click":"https://bell.example/base/tasks/t%201"}`
	if len(ntfy.bodies) != 5 || !slices.Contains(ntfy.bodies, want) {
		t.Errorf("%s\nlack %s", strings.Join(ntfy.bodies, "\n"), want)
	}
}

// https://docs.slack.dev/reference/block-kit/blocks and /messaging/formatting-message-text
func checkSlack(r *http.Request, body []byte) string {
	type text struct{ Type, Text string }
	var m struct {
		Text   string
		Blocks []struct {
			Type string
			Text text
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return err.Error()
	}
	if r.URL.Path != "/services/T/B/x" || m.Text == "" || len(m.Blocks) == 0 || len(m.Blocks) > 50 {
		return "text or blocks are missing"
	}
	if strings.ContainsAny(m.Text, "<>") {
		return "the text has markup"
	}
	for _, b := range m.Blocks {
		n := len([]rune(b.Text.Text))
		switch {
		case b.Type == "header" && b.Text.Type == "plain_text" && n >= 1 && n <= 150:
		case b.Type == "section" && b.Text.Type == "plain_text" && n >= 1 && n <= 3000:
		case b.Type == "section" && b.Text.Type == "mrkdwn" && strings.HasPrefix(b.Text.Text, "<https://bell.example/base/"):
		default:
			return "a block that Slack refuses: " + b.Type
		}
	}
	return ""
}

func TestThePresetForSlack(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	slack := startService(t, checkSlack)
	secret := p.emitAll(slack.URL+"/services/T/B/x", protocol.FormatSlack)
	verify(t, slack.signed, secret)
	slices.Sort(slack.bodies)
	const want = `{"text":"&lt;!channel&gt; &amp; co: Run &lt;https://evil.example|make&gt;?","blocks":[` +
		`{"type":"header","text":{"type":"plain_text","text":"<!channel> & co"}},` +
		`{"type":"section","text":{"type":"plain_text","text":"Run <https://evil.example|make>?"}},` +
		`{"type":"section","text":{"type":"mrkdwn","text":"<https://bell.example/base/tasks/t%201|Open in Bellhop>"}}]}`
	if len(slack.bodies) != 5 || !slices.Contains(slack.bodies, want) {
		t.Errorf("%s\nlack %s", strings.Join(slack.bodies, "\n"), want)
	}
}

func TestPresetsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	for _, c := range []struct {
		name, url string
		format    protocol.WebhookFormat
	}{
		{"an unknown one", "https://x.example/", "teams"},
		{"ntfy without a topic", "https://ntfy.example/", protocol.FormatNtfy},
		{"ntfy without a path", "https://ntfy.example", protocol.FormatNtfy},
		{"ntfy with a topic of another alphabet", "https://ntfy.example/my.topic", protocol.FormatNtfy},
		{"ntfy with a topic that is too long", "https://ntfy.example/" + strings.Repeat("x", 65), protocol.FormatNtfy},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := p.worker.Register(t.Context(), p.user, outbound.EndpointRequest{
				Kind: outbound.KindTask, URL: c.url, Events: protocol.WebhookEvents(), Format: c.format,
			})
			p.code(err, protocol.CodeInvalid)
		})
	}
}
