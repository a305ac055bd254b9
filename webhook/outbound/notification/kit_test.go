package notification_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"bellhop/crypto/webpush"
	"bellhop/internal/netguard"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/pushservice"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/notification"
	"bellhop/webhook/outbound/outboundtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

const signIn = "sign-in-1"

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// kit is a user with a browser, and a broker's queue with a manual clock.
type kit struct {
	*testing.T
	site    *outboundtest.Site
	clock   *testenv.Clock
	browser *pushservice.Service
	user    string
	// What the broker knows.
	signedIn map[string]bool
	answered map[string]bool

	*replica
}

// replica is one broker process.
type replica struct {
	service *notification.Service
	worker  *outbound.Worker
}

func newKit(t *testing.T, site *outboundtest.Site) *kit {
	t.Helper()
	clock := testenv.NewClock(start)
	k := &kit{
		T: t, site: site, clock: clock, browser: pushservice.Start(t, clock.Now), user: site.User(t),
		signedIn: map[string]bool{signIn: true}, answered: map[string]bool{},
	}
	k.replica = k.newReplica(site.Store)
	k.browser.Key = k.service.Identity.PublicKey()
	return k
}

var identity = func() *webpush.Identity {
	secret, err := webpush.Generate()
	if err != nil {
		panic(err)
	}
	made, err := webpush.Parse(secret)
	if err != nil {
		panic(err)
	}
	return made
}()

func (k *kit) newReplica(store outbound.Store) *replica {
	guard := netguard.New(netguard.Options{AllowLoopback: true})
	client := guard.Client(netguard.Timeouts{})
	k.Cleanup(client.CloseIdleConnections)
	log := slog.New(slog.NewTextHandler(k.Output(), nil))
	queue := outbound.New(outbound.Options{Store: store, CheckURL: guard.CheckURL, Now: k.clock.Now, Log: log})
	service := notification.New(notification.Service{
		Outbound: queue, Store: store, CheckURL: guard.CheckURL, Identity: identity, Contact: "https://bellhop.example",
		SignedIn: func(_ context.Context, userID, id string) (bool, error) {
			return userID == k.user && k.signedIn[id], nil
		},
		Open: func(_ context.Context, _, id string) (bool, error) { return !k.answered[id], nil },
		Now:  k.clock.Now, Log: log,
	})
	return &replica{service, outbound.NewWorker(queue, outbound.WorkerOptions{
		Client: client, Random: func() float64 { return 0.5 },
		Kinds: map[string]outbound.Kind{outbound.KindBrowser: service.Kind()},
	})}
}

func (k *kit) must(err error) {
	k.Helper()
	testenv.Must(k, err)
}

func (k *kit) subscription(events ...protocol.NotificationEvent) notification.Subscription {
	return notification.Subscription{
		Endpoint: k.browser.Address(), P256dh: k.browser.P256dh, Auth: k.browser.Auth, Events: events,
	}
}

func (k *kit) subscribe(events ...protocol.NotificationEvent) *outbound.Endpoint {
	k.Helper()
	e, err := k.service.Subscribe(k.Context(), k.user, signIn, "Firefox on a phone", k.subscription(events...))
	k.must(err)
	return e
}

// question emits a question of the task t1.
func (k *kit) question(id string, data map[string]any) {
	k.Helper()
	all := map[string]any{"title": "Tidy up", "interactionId": id, "kind": "confirm", "prompt": "Run make?"}
	for name, value := range data {
		all[name] = value
	}
	k.emit(outbound.TaskEvent{ID: "evt_" + id, Type: protocol.WebhookInteractionOpened, TaskID: "t1", Data: all})
}

func (k *kit) finished(id string, data map[string]any) {
	k.Helper()
	k.emit(outbound.TaskEvent{ID: "evt_" + id, Type: protocol.WebhookTurnFinished, TaskID: "t1", Data: data})
}

func (k *kit) emit(event outbound.TaskEvent) {
	k.Helper()
	event.At = k.clock.Now()
	k.must(k.service.Emit(k.Context(), k.user, event))
}

func (k *kit) sweep() {
	k.Helper()
	k.must(k.worker.Sweep(k.Context()))
}

// log returns the deliveries of the user in short, the newest first.
func (k *kit) log() string {
	k.Helper()
	list, _, err := k.worker.List(k.Context(), outbound.Filter{OwnerID: k.user})
	k.must(err)
	text := ""
	for i := range list {
		text += string(list[i].State) + " " + list[i].Reason + "; "
	}
	return text
}

func (k *kit) count() int {
	k.Helper()
	k.must(k.service.Round(k.Context()))
	var n int
	k.must(k.site.DB.Conn(k.Context()).Raw(`SELECT count(*) FROM webhook_endpoints`).Row().Scan(&n))
	return n
}

func read(t *testing.T, m pushservice.Message) protocol.Notification {
	t.Helper()
	var n protocol.Notification
	if err := json.Unmarshal(m.Plain, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
