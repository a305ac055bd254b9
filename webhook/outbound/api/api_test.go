package api_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/netguard"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/apicheck"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/api"
	"bellhop/webhook/outbound/outboundtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

type userKey struct{}

// kit serves the API on a store, with a manual clock.
type kit struct {
	*testing.T
	site   *outboundtest.Site
	clock  *testenv.Clock
	worker *outbound.Worker
	e      *echo.Echo
}

func newKit(t *testing.T, site *outboundtest.Site) *kit {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	guard := netguard.New(netguard.Options{AllowLoopback: true})
	client := guard.Client(netguard.Timeouts{})
	t.Cleanup(client.CloseIdleConnections)
	d := &kit{
		T: t, site: site, clock: testenv.NewClock(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)),
		e: httpapi.New(httpapi.Options{Log: log}),
	}
	service := outbound.New(outbound.Options{Store: site.Store, CheckURL: guard.CheckURL, Now: d.clock.Now, Log: log})
	d.worker = outbound.NewWorker(service, outbound.WorkerOptions{
		Client: client, Random: func() float64 { return 0.5 }, Kinds: map[string]outbound.Kind{},
	})
	(&api.API{
		Service: service, User: d.user, UserID: func(ctx context.Context) string { return ctx.Value(userKey{}).(string) },
		Subjects: map[string]api.Describe{"agent": describe},
	}).Routes(d.e)
	return d
}

func (d *kit) user(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		id := r.Header.Get("X-User")
		if id == "" {
			return protocol.Errorf(protocol.CodeUnauthorized, "Unauthorized")
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), userKey{}, id)))
		return next(c)
	}
}

var (
	anyID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anySecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{44}`)
	anyTook   = regexp.MustCompile(`"durationMs":\d+`)
	anyPort   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// as sends a request as a user. raw is the body of the response; in shape the values that differ
// from run to run are replaced.
func (d *kit) as(user, method, path, body string) (status int, raw, shape string) {
	d.Helper()
	r := httptest.NewRequestWithContext(d.Context(), method, path, io.NopCloser(strings.NewReader(body)))
	r.Host = "127.0.0.1"
	if body == "" {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-User", user)
	rec := httptest.NewRecorder()
	d.e.ServeHTTP(rec, r)
	r.Header = http.Header{"Content-Type": r.Header["Content-Type"], "Authorization": {"Bearer token"}}
	apicheck.Broker(d.T).Exchange(d.T, r, []byte(body), rec.Code, rec.Header(), rec.Body.Bytes())
	raw = strings.TrimSpace(rec.Body.String())
	shape = anyID.ReplaceAllString(raw, "ID")
	shape = anySecret.ReplaceAllString(shape, "SECRET")
	shape = anyTook.ReplaceAllString(shape, `"durationMs":0`)
	return rec.Code, raw, anyPort.ReplaceAllString(shape, "HOST")
}

func (d *kit) want(user, method, path, body string, status int, shape string) (raw string) {
	d.Helper()
	code, raw, got := d.as(user, method, path, body)
	if code != status || got != shape {
		d.Errorf("%s %s: %d %s\nwant %d %s", method, path, code, got, status, shape)
	}
	return raw
}

func TestWebhooksAndTheirDeliveries(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		d := newKit(t, site)
		ada, bob := site.User(t), site.User(t)
		r := outboundtest.Receive(t, outboundtest.Statuses(500, 400, 200))
		raw := d.want(ada, "POST", "/api/webhooks", `{"url":"`+r.URL+`","events":["turn.finished"]}`, 201,
			`{"webhook":{"id":"ID","url":"http://HOST","events":["turn.finished"],"secret":"SECRET","disabled":false,"createdAt":"2026-03-04T05:06:07Z"}}`)
		webhook := anyID.FindString(raw)
		d.want(ada, "GET", "/api/webhooks", "", 200,
			`{"webhooks":[{"id":"ID","url":"http://HOST","events":["turn.finished"],"disabled":false,"createdAt":"2026-03-04T05:06:07Z"}]}`)
		d.want(bob, "GET", "/api/webhooks", "", 200, `{"webhooks":[]}`)
		d.want(bob, "GET", "/api/deliveries", "", 200, `{"deliveries":[]}`)

		emit := func(id string) {
			event := outbound.TaskEvent{ID: id, Type: protocol.WebhookTurnFinished, TaskID: "t", At: d.clock.Now()}
			if err := d.worker.Emit(t.Context(), ada, event); err != nil {
				t.Fatal(err)
			}
		}
		sweep := func() {
			if err := d.worker.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		emit("evt_1")
		const row = `"kind":"task","event":"turn.finished","endpointId":"ID","messageId":"evt_1","attempts":[`
		const times = `"expiresAt":"2026-03-05T05:06:07Z","createdAt":"2026-03-04T05:06:07Z"}`
		const first = `{"number":1,"at":"2026-03-04T05:06:07Z","durationMs":0,"status":500,"answer":"answer 1"}`
		const second = `{"number":2,"at":"2026-03-04T05:06:08Z","durationMs":0,"status":400,"answer":"answer 2"}`
		d.want(ada, "GET", "/api/deliveries", "", 200,
			`{"deliveries":[{"id":"ID","state":"queued",`+row+`],"nextAttemptAt":"2026-03-04T05:06:07Z",`+times+`]}`)
		sweep()
		raw = d.want(ada, "GET", "/api/deliveries?state=queued", "", 200,
			`{"deliveries":[{"id":"ID","state":"queued",`+row+first+`],"nextAttemptAt":"2026-03-04T05:06:08Z",`+times+`]}`)
		delivery := anyID.FindString(raw)
		d.clock.Advance(time.Second)
		sweep()
		d.want(ada, "GET", "/api/deliveries?endpointId="+webhook, "", 200,
			`{"deliveries":[{"id":"ID","state":"failed","reason":"status 400",`+row+first+`,`+second+`],`+times+`]}`)
		d.want(bob, "POST", "/api/deliveries/"+delivery+"/retry", "", 404,
			`{"error":"Delivery not found","code":"not_found"}`)
		d.clock.Advance(time.Second)
		d.want(ada, "POST", "/api/deliveries/"+delivery+"/retry", "", 200,
			`{"delivery":{"id":"ID","state":"queued",`+row+first+`,`+second+
				`],"nextAttemptAt":"2026-03-04T05:06:09Z","expiresAt":"2026-03-05T05:06:09Z","createdAt":"2026-03-04T05:06:07Z"}}`)
		sweep()
		d.want(ada, "POST", "/api/deliveries/"+delivery+"/retry", "", 409,
			`{"error":"This was delivered already","code":"conflict"}`)

		emit("evt_2")
		raw = d.want(ada, "GET", "/api/deliveries?limit=1&state=queued", "", 200,
			`{"deliveries":[{"id":"ID","state":"queued",`+strings.Replace(row, "evt_1", "evt_2", 1)+
				`],"nextAttemptAt":"2026-03-04T05:06:09Z","expiresAt":"2026-03-05T05:06:09Z","createdAt":"2026-03-04T05:06:09Z"}]}`)
		_, page, _ := d.as(ada, "GET", "/api/deliveries?limit=1", "")
		if !strings.Contains(page, `"nextCursor":"`+anyID.FindString(raw)+`"`) {
			t.Error(page)
		}
		_, page, _ = d.as(ada, "GET", "/api/deliveries?limit=1&cursor="+anyID.FindString(raw), "")
		if !strings.Contains(page, `"id":"`+delivery+`"`) || strings.Contains(page, "nextCursor") {
			t.Error(page)
		}

		d.want(bob, "POST", "/api/webhooks/"+webhook+"/rotate", "", 404, `{"error":"Webhook not found","code":"not_found"}`)
		d.want(ada, "POST", "/api/webhooks/"+webhook+"/rotate", "", 200,
			`{"webhook":{"id":"ID","url":"http://HOST","events":["turn.finished"],"secret":"SECRET","disabled":false,"createdAt":"2026-03-04T05:06:07Z"}}`)
		d.want(ada, "POST", "/api/webhooks/"+webhook+"/enable", "", 200, `{"success":true}`)
		d.want(bob, "DELETE", "/api/webhooks/"+webhook, "", 404, `{"error":"Webhook not found","code":"not_found"}`)
		d.want(ada, "DELETE", "/api/webhooks/"+webhook, "", 200, `{"success":true}`)
		d.want(ada, "DELETE", "/api/webhooks/"+webhook, "", 404, `{"error":"Webhook not found","code":"not_found"}`)
		d.want(ada, "GET", "/api/deliveries", "", 200, `{"deliveries":[]}`)
	})
}

// A delivery to an agent names its question, source and agent, and whether it waits for another.
func TestDeliveriesToAgentsNameTheirSubject(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		d := newKit(t, site)
		ada, ctx := site.User(t), t.Context()
		e, err := d.worker.Register(ctx, ada, outbound.EndpointRequest{Kind: "agent", URL: "http://127.0.0.1:65000"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"m1", "m2", "gone"} {
			if _, err := d.worker.Enqueue(ctx,
				outbound.Message{EndpointID: e.ID, MessageID: id, OrderKey: "s1", Event: "e", Body: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			d.clock.Advance(time.Millisecond)
		}
		const subject = `"subject":{"agentSessionId":"a1","agentName":"Ada","sourceId":"s1","sourceTitle":"S","question":"Why?"}`
		row := func(message, more string) string {
			return `{"id":"ID","state":"queued","kind":"agent","event":"e","endpointId":"ID","messageId":"` + message + `",` +
				more
		}
		_, _, got := d.as(ada, "GET", "/api/deliveries", "")
		for _, want := range []string{
			row("m1", subject+`,"attempts":[],"nextAttemptAt":"2026-03-04T05:06:07Z"`),
			row("m2", `"waiting":true,`+subject+`,"attempts":[],"expiresAt"`),
			row("gone", `"waiting":true,"attempts":[],"expiresAt"`),
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nlacks %s", got, want)
			}
		}
		_, raw, _ := d.as(ada, "GET", "/api/deliveries", "")
		first := raw[strings.LastIndex(raw, `{"id":"`)+7:]
		if _, _, got := d.as(ada, "POST", "/api/deliveries/"+anyID.FindString(first)+"/retry",
			""); !strings.Contains(got, subject) {
			t.Errorf("%s\nlacks %s", got, subject)
		}
	})
}

func describe(_ context.Context, _ string, ids []string) (map[string]protocol.DeliverySubject, error) {
	subjects := map[string]protocol.DeliverySubject{}
	for _, id := range ids {
		if id != "gone" {
			subjects[id] = protocol.DeliverySubject{
				AgentSessionID: "a1", AgentName: "Ada", SourceID: "s1", SourceTitle: "S", Question: "Why?",
			}
		}
	}
	return subjects, nil
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	d := newKit(t, outboundtest.SQLite(t))
	ada := d.site.User(t)
	const guard = `","code":"invalid","hint":"Use an https URL of a public host; an operator can allow more networks (BELLHOP_OUTBOUND_ALLOW)"}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		shape                    string
	}{
		{
			"no body", "POST", "/api/webhooks", "",
			400, `{"error":"The body is empty","code":"invalid","hint":"Send a JSON object"}`,
		},
		{
			"a private URL", "POST", "/api/webhooks", `{"url":"https://10.0.0.1","events":["turn.finished"]}`,
			400, `{"error":"This URL is not allowed: its address or port is not public` + guard,
		},
		{
			"ftp", "POST", "/api/webhooks", `{"url":"ftp://x.example","events":["turn.finished"]}`,
			400, `{"error":"This URL is not allowed: its scheme is not https` + guard,
		},
		{
			"no events", "POST", "/api/webhooks", `{"url":"https://x.example"}`, 400,
			`{"error":"events must name at least one of turn.finished, interaction.opened, followup.answered, followup.failed","code":"invalid"}`,
		},
		{
			"an unknown event", "POST", "/api/webhooks", `{"url":"https://x.example","events":["x"]}`, 400,
			`{"error":"events must be among turn.finished, interaction.opened, followup.answered, followup.failed","code":"invalid"}`,
		},
		{
			"an unknown format", "POST", "/api/webhooks",
			`{"url":"https://x.example","events":["turn.finished"],"format":"x"}`, 400,
			`{"error":"format must be ntfy, slack or absent","code":"invalid"}`,
		},
		{
			"a short secret", "POST", "/api/webhooks",
			`{"url":"https://x.example","events":["turn.finished"],"secret":"canary"}`, 400,
			`{"error":"The webhook secret is not usable","code":"invalid","hint":"Send whsec_ followed by the base64 of 24 to 64 random bytes, 16 to 256 printable characters without this prefix, or none to have one made"}`,
		},
		{
			"an unknown state", "GET", "/api/deliveries?state=lost", "",
			400, `{"error":"state must be one of queued, held, delivered, failed, expired","code":"invalid"}`,
		},
		{"no such delivery", "POST", "/api/deliveries/x/retry", "", 404, `{"error":"Delivery not found","code":"not_found"}`},
		{"no such webhook", "POST", "/api/webhooks/x/enable", "", 404, `{"error":"Webhook not found","code":"not_found"}`},
	} {
		t.Run(c.name, func(t *testing.T) { d.want(ada, c.method, c.path, c.body, c.status, c.shape) })
	}
	d.want(ada, "POST", "/api/webhooks", `{"url":"https://x.example/topic","events":["turn.finished"],"format":"ntfy"}`, 201,
		`{"webhook":{"id":"ID","url":"https://x.example/topic","events":["turn.finished"],"format":"ntfy","secret":"SECRET",`+
			`"disabled":false,"createdAt":"2026-03-04T05:06:07Z"}}`)
	d.want("", "GET", "/api/webhooks", "", 401, `{"error":"Unauthorized","code":"unauthorized"}`)
}
