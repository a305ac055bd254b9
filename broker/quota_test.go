package broker_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// limited gives the kit's use cases quotas.
func (k *kit) limited(limits broker.QuotaLimits) *broker.Quotas {
	quotas := &broker.Quotas{Limits: limits, Store: k.store, Now: k.clock.Now}
	k.tasks.Quotas, k.sessions.Quotas = quotas, quotas
	return quotas
}

func wantCode(t *testing.T, what string, err error, want protocol.Code) {
	t.Helper()
	if got := protocol.CodeOf(err); got != want || (err == nil) != (want == "") {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestAUserHasNoMoreTasksThanTheQuota(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		k.limited(broker.QuotaLimits{Tasks: 2})
		create := func() error {
			_, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x"})
			return err
		}
		first := k.task()
		wantCode(t, "the second", create(), "")
		wantCode(t, "the third", create(), protocol.CodeQuota)
		k.user = k.newUser("eve@example.org", true)
		wantCode(t, "another user's first", create(), "")
		ada, err := k.store.UserByEmail(k.ctx, "ada@example.org")
		k.must(err)
		k.user.UserID = ada.ID
		list, err := k.tasks.List(k.ctx, ada.ID, broker.TaskQuery{})
		k.must(err)
		if len(list.Tasks) != 2 {
			t.Errorf("%d tasks are stored", len(list.Tasks))
		}
		k.must(k.delete(ada.ID, first.ID))
		wantCode(t, "after a deletion", create(), "")
	})
}

func TestMessagesAreStoredWithinTheQuota(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		k.limited(broker.QuotaLimits{Storage: 1000})
		queue := &broker.Queue{Store: k.store, Updater: k.updater, Sessions: k.sessions, Now: k.clock.Now}
		task := k.task()
		checkIn := func(bytes int) error {
			_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
				TaskID: task.ID, Message: strings.Repeat("ä", bytes/2),
			})
			return err
		}
		add := func(bytes int) error {
			_, err := queue.Add(k.ctx, k.user.UserID, task.ID,
				&protocol.QueueMessageRequest{Message: strings.Repeat("x", bytes)})
			return err
		}
		wantCode(t, "more than all", checkIn(1002), protocol.CodeQuota)
		if len(k.messages(task.ID)) != 0 {
			t.Error("a refused message is stored")
		}
		wantCode(t, "600 bytes", checkIn(600), "")
		wantCode(t, "another 600 bytes", checkIn(600), protocol.CodeQuota)
		wantCode(t, "600 bytes in the queue", add(600), protocol.CodeQuota)
		wantCode(t, "300 bytes in the queue", add(300), "")
		if got, err := k.store.StoredBytes(k.ctx, k.user.UserID); err != nil || got < 600 || got > 700 {
			t.Errorf("%d bytes, %v", got, err)
		}
		// Messages of agents count too, at the latest a minute later.
		turn := k.messages(task.ID)[0].TurnID
		k.mustSend(task.ID, "", seqd(1, 1, turn, text(strings.Repeat("y", 500))))
		k.clock.Advance(time.Minute)
		wantCode(t, "after an agent's message", checkIn(2), protocol.CodeQuota)
		k.must(k.delete(k.user.UserID, task.ID))
		task = k.task()
		wantCode(t, "after a deletion", checkIn(600), "")
	})
}

// watchedSum notes whether the sum of a user's bytes is read while a transaction is open.
type watchedSum struct {
	*store.Store
	reads, locked int
}

func (s *watchedSum) StoredBytes(ctx context.Context, userID string) (int64, error) {
	free := false
	database.AfterCommit(ctx, func() { free = true }) // at once, without a transaction
	if s.reads++; !free {
		s.locked++
	}
	return s.Store.StoredBytes(ctx, userID)
}

// The sum reads all messages of the user. On SQLite an open transaction keeps all other writers waiting.
func TestAQueuedMessageIsCountedBeforeItsTransaction(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	sum := &watchedSum{Store: k.store}
	k.limited(broker.QuotaLimits{Storage: 1000}).Store = sum
	queue := &broker.Queue{Store: k.store, Updater: k.updater, Sessions: k.sessions, Now: k.clock.Now}
	task := k.task()
	_, err := queue.Add(k.ctx, k.user.UserID, task.ID, &protocol.QueueMessageRequest{Message: "x"})
	k.must(err)
	if sum.reads != 1 || sum.locked != 0 {
		t.Errorf("%d sums were read, %d of them in a transaction", sum.reads, sum.locked)
	}
}

func TestARepeatedMessageNeedsNoFurtherQuota(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.limited(broker.QuotaLimits{Storage: 1000})
	queue := &broker.Queue{Store: k.store, Updater: k.updater, Sessions: k.sessions, Now: k.clock.Now}
	task := k.task()
	checkIn := func(id string) error {
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
			TaskID: task.ID, Message: strings.Repeat("x", 400), MessageID: id,
		})
		return err
	}
	add := func(id string) error {
		_, err := queue.Add(k.ctx, k.user.UserID, task.ID, &protocol.QueueMessageRequest{
			Message: strings.Repeat("x", 400), MessageID: id,
		})
		return err
	}
	wantCode(t, "a check-in", checkIn("a"), "")
	wantCode(t, "a queued message", add("b"), "")
	wantCode(t, "the check-in again", checkIn("a"), "")
	wantCode(t, "the queued message again", add("b"), "")
	wantCode(t, "another check-in", checkIn("c"), "")
	wantCode(t, "the check-in when nothing is left", checkIn("a"), "")
	wantCode(t, "the queued message when nothing is left", add("b"), "")
	wantCode(t, "a further message", add("d"), protocol.CodeQuota)
}

func TestFeedsAndRelayedStreamsAreCounted(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	quotas := k.limited(broker.QuotaLimits{Feeds: 2, Streams: 1})
	first, err := quotas.OpenFeed("ada")
	k.must(err)
	_, err = quotas.OpenFeed("ada")
	wantCode(t, "the second feed", err, "")
	_, err = quotas.OpenFeed("ada")
	wantCode(t, "the third feed", err, protocol.CodeTooManyRequests)
	_, err = quotas.OpenFeed("eve")
	wantCode(t, "another user's", err, "")
	first()
	first() // a repetition closes no other feed
	_, err = quotas.OpenFeed("ada")
	wantCode(t, "after one has closed", err, "")
	_, err = quotas.OpenFeed("ada")
	wantCode(t, "one too many again", err, protocol.CodeTooManyRequests)

	at := &promptHost{}
	k.host.onOpen, k.sessions.Relayer = at.opens, at
	task := k.task()
	relay := func() (*broker.Relayed, error) {
		return k.sessions.Relay(k.ctx, &broker.RelayRequest{
			SessionID: task.ID, Method: http.MethodPost, Query: url.Values{"token": {"t"}},
			Header: http.Header{"Authorization": {"Bearer t"}}, Body: strings.NewReader(`{"prompt":"x"}`),
		})
	}
	stream, err := relay()
	wantCode(t, "a stream", err, "")
	_, err = relay()
	wantCode(t, "a second stream", err, protocol.CodeTooManyRequests)
	stream.Leave()
	at.answer = func(string) (int, string, bool) { return 0, "", true }
	_, err = relay()
	wantCode(t, "a host that is away", err, protocol.CodeBadGateway)
	at.answer = nil
	_, err = relay()
	wantCode(t, "afterwards", err, "")
}
