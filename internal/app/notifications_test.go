package app

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/testenv/apicheck"
	"bellhop/internal/testenv/pushservice"
	"bellhop/protocol"
)

// browser is a browser that calls a broker with its cookies.
type browser struct {
	t      *testing.T
	client *http.Client
	url    string
	token  string // instead of the cookies
}

func (b *browser) call(method, path, body string, status int) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Firefox on a phone")
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		b.t.Fatalf("%s %s: %d %s %v", method, path, response.StatusCode, got, err)
	}
	return string(got)
}

const notified = "notified@example.org"

// openNotified opens a broker on a database; the first one gets a user.
func openNotified(t *testing.T, dir string, keyset seal.Secret) *Broker {
	t.Helper()
	b, err := OpenBroker(t.Context(), BrokerConfig{
		StoreConfig: StoreConfig{
			DatabaseURL: seal.NewSecret("sqlite:" + filepath.Join(dir, "broker.db")), Keyset: keyset,
			Log: slog.New(slog.DiscardHandler),
		},
		Listen: "127.0.0.1:0", AllowLoopback: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

func newBrowser(t *testing.T, b *Broker) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := apicheck.Broker(t).Transport(t, &http.Transport{DisableKeepAlives: true})
	return &browser{t: t, client: &http.Client{Jar: jar, Transport: checked}, url: b.URL}
}

func (b *browser) signIn() {
	b.t.Helper()
	b.call("POST", "/api/auth/login", `{"email":"`+notified+`","password":"plum-otter-lantern-9"}`, 200)
}

func TestNotificationsOfASignIn(t *testing.T) {
	t.Parallel()
	text, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	dir, keyset := t.TempDir(), seal.NewSecret(text)
	first := openNotified(t, dir, keyset)
	user, err := first.Auth.CreateUser(t.Context(), notified, "plum-otter-lantern-9", false)
	if err != nil {
		t.Fatal(err)
	}
	token, err := first.Auth.CreateToken(t.Context(), &broker.APIToken{UserID: user.ID, Name: "x", Kind: broker.TokenUser})
	if err != nil {
		t.Fatal(err)
	}
	service := pushservice.Start(t, time.Now)
	subscription := `{"endpoint":"` + service.Address() + `","keys":{"p256dh":"` + service.P256dh + `","auth":"` +
		service.Auth + `"}}`

	phone, other := newBrowser(t, first), newBrowser(t, first)
	phone.call("PUT", "/api/notifications", subscription, 401)
	phone.signIn()
	other.signIn()
	program := newBrowser(t, first)
	program.token = token
	program.call("PUT", "/api/notifications", subscription, 403)
	phone.call("PUT", "/api/notifications", subscription, 200)
	type list struct {
		PublicKey     string                              `json:"publicKey"`
		Subscriptions []protocol.NotificationSubscription `json:"subscriptions"`
	}
	read := func(b *browser) (l list) {
		if err := json.Unmarshal([]byte(b.call("GET", "/api/notifications", "", 200)), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	mine, others := read(phone), read(other)
	if len(mine.Subscriptions) != 1 || !mine.Subscriptions[0].Current || others.Subscriptions[0].Current ||
		mine.Subscriptions[0].Browser != "Firefox on a phone" || len(mine.Subscriptions[0].Events) != 4 {
		t.Errorf("%+v %+v", mine, others)
	}

	second := openNotified(t, dir, keyset)
	if key := second.browsers.Identity.PublicKey(); key != mine.PublicKey || len(key) != 87 {
		t.Errorf("replicas have the keys %s and %s", key, mine.PublicKey)
	}
	alive, err := first.Auth.SignedIn(t.Context(), user.ID, "unknown")
	if err != nil || alive {
		t.Error(alive, err)
	}

	phone.call("POST", "/api/auth/logout", "", 200)
	if left := read(other); len(left.Subscriptions) != 0 {
		t.Errorf("%+v", left)
	}
	phone.signIn()
	phone.call("PUT", "/api/notifications", subscription, 200)
	id := read(phone).Subscriptions[0].ID
	phone.call("PATCH", "/api/notifications/"+id, `{"events":["question"]}`, 200)
	phone.call("PATCH", "/api/notifications/"+id, `{"events":[]}`, 400)
	phone.call("DELETE", "/api/notifications/"+id, "", 200)
	phone.call("DELETE", "/api/notifications/"+id, "", 404)
	filter := broker.AuditFilter{Action: "notifications", Before: 1 << 40, Limit: 10}
	acts, err := first.Store.AuditEntries(t.Context(), filter)
	if err != nil || len(acts) != 3 || acts[0].Action != protocol.AuditNotificationsOff ||
		acts[0].Detail["browser"] != "Firefox on a phone" {
		t.Errorf("%+v %v", acts, err)
	}
}

// The key of the notifications is a sealed value like the others: "bellhop keys rotate" seals it again.
func TestTheKeyOfNotificationsIsRotatedWithTheKeyset(t *testing.T) {
	t.Parallel()
	found := false
	for _, column := range SealedColumns() {
		found = found || column.Table == "meta" && column.Row == "notification-key" && column.Base64
	}
	if !found {
		t.Error("the notification key is not among the sealed columns")
	}
}
