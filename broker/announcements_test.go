package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// announcementHosts records what hosts get.
type announcementHosts struct {
	mu   sync.Mutex
	fail map[string]error // by URL
	got  []string
}

func (h *announcementHosts) Announce(_ context.Context, t broker.Target, req *protocol.HostAnnouncements) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	call := t.URL + " " + t.Passwords[0].Reveal() + " " + req.BrokerID
	for _, one := range req.Announcements {
		call += " " + one.Text
	}
	h.got = append(h.got, call)
	return h.fail[t.URL]
}

func (h *announcementHosts) calls() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := strings.Join(h.got, "; ")
	h.got = nil
	return all
}

func TestHostsGetAnnouncementsUntilTheyHaveThem(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link, notified := &announcementHosts{fail: map[string]error{}}, 0
	s := &broker.Announcements{
		Store: k.store, Targets: k.targets, Link: link, BrokerID: "b", Notify: func() { notified++ }, Now: k.clock.Now,
		Log: slog.New(slog.DiscardHandler),
	}
	add := func(url string, health broker.HostHealth) {
		k.must(k.store.CreateHost(k.ctx, &broker.Host{
			ID: protocol.NewID(), Name: url, URL: url, Password: seal.NewSecret("pw"), Health: health, CreatedAt: start,
		}))
	}
	add("http://up", broker.HostOK)
	add("http://down", broker.HostUnreachable)
	round := func(what, want string, wantNotified int) {
		t.Helper()
		s.Round(k.ctx)
		if got := link.calls(); got != want || notified != wantNotified {
			t.Errorf("%s: calls %q, want %q; notified %d, want %d", what, got, want, notified, wantNotified)
		}
	}
	round("a host may have what a broker sent before it stopped", "http://up pw b", 1)
	round("an empty list is sent once", "", 1)
	made, isNew, err := s.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "Noon", ExpiresIn: 60})
	if err != nil || !isNew {
		t.Fatal(made, isNew, err)
	}
	round("a new announcement", "http://up pw b Noon", 2)
	round("the same list, because the host may have restarted", "http://up pw b Noon", 2)
	link.fail["http://up"] = errors.New("timeout")
	k.must(s.Cancel(k.ctx, k.user, made.ID))
	round("the host does not answer", "http://up pw b", 3)
	link.fail["http://up"] = nil
	round("the host answers again", "http://up pw b", 3)
	round("the host has the empty list", "", 3)

	link.fail["http://up"] = protocol.Errorf(protocol.CodeNotFound, "no such route")
	_, _, err = s.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "Two", ExpiresIn: 3600})
	k.must(err)
	round("the host does not support announcements", "http://up pw b Two", 4)
	round("the host is skipped for ten minutes", "", 4)
	k.clock.Advance(11 * time.Minute)
	round("the host is tried after eleven minutes", "http://up pw b Two", 4)
	k.clock.Advance(time.Hour)
	link.fail["http://up"] = nil
	round("the announcement has expired", "http://up pw b", 5)
}

// announcementQueries counts the queries of rounds.
type announcementQueries struct {
	*store.Store
	calls []string
}

func (s *announcementQueries) ActiveAnnouncements(ctx context.Context, now time.Time) ([]broker.Announcement, error) {
	s.calls = append(s.calls, "list")
	return s.Store.ActiveAnnouncements(ctx, now)
}

func (s *announcementQueries) Hosts(ctx context.Context) ([]broker.Host, error) {
	s.calls = append(s.calls, "hosts")
	return s.Store.Hosts(ctx)
}

func (s *announcementQueries) PruneAnnouncements(ctx context.Context, before time.Time) (int64, error) {
	s.calls = append(s.calls, "prune")
	return s.Store.PruneAnnouncements(ctx, before)
}

// Each replica makes a round every 10 s. Without announcements it costs one query, and a host
// that is added or that was away still learns that there are none.
func TestARoundWithNothingToSendOnlyReadsTheList(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link, queries := &announcementHosts{fail: map[string]error{}}, &announcementQueries{Store: k.store}
	s := &broker.Announcements{
		Store: queries, Targets: k.targets, Link: link, BrokerID: "b", Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	add := func(id string) {
		k.must(k.store.CreateHost(k.ctx, &broker.Host{
			ID: id, Name: id, URL: "http://" + id, Password: seal.NewSecret("pw"), Health: broker.HostOK, CreatedAt: start,
		}))
	}
	round := func(what, want, wantQueries string) {
		t.Helper()
		queries.calls = nil
		s.Round(k.ctx)
		if got, asked := link.calls(), strings.Join(queries.calls, " "); got != want || asked != wantQueries {
			t.Errorf("%s: calls %q, want %q; queries %q, want %q", what, got, want, asked, wantQueries)
		}
	}
	add("one")
	link.fail["http://one"] = errors.New("timeout")
	round("a host that does not answer", "http://one pw b", "list prune hosts")
	link.fail["http://one"] = nil
	round("the host answers in the next round", "http://one pw b", "list hosts")
	round("every host has the empty list", "", "list")
	add("two")
	k.clock.Advance(9 * time.Minute)
	round("nine minutes later", "", "list")
	k.clock.Advance(time.Minute)
	round("a new host is found after ten minutes", "http://two pw b", "list prune hosts")
	round("the new host has the empty list", "", "list")
	made, _, err := s.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "Noon", ExpiresIn: 3600})
	k.must(err)
	s.Round(k.ctx)
	link.calls() // in any order
	k.must(s.Cancel(k.ctx, k.user, made.ID))
	link.fail["http://two"] = errors.New("timeout")
	s.Round(k.ctx)
	link.calls()
	link.fail["http://two"] = nil
	round("the host that missed the end of the announcement", "http://two pw b", "list hosts")
	round("all hosts have the empty list again", "", "list")
}

// A new process of the broker reads announcements from the database.
func TestAnnouncementsOutliveTheBroker(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	log := slog.New(slog.DiscardHandler)
	first := &broker.Announcements{Store: k.store, Targets: k.targets, Now: k.clock.Now, Log: log}
	_, _, err := first.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "Noon"})
	k.must(err)
	second := &broker.Announcements{Store: k.store, Targets: k.targets, Now: k.clock.Now, Log: log}
	list, err := second.List(k.ctx)
	if err != nil || len(list) != 1 || list[0].Text != "Noon" || list[0].Level != protocol.AnnouncementInfo {
		t.Errorf("%+v, %v", list, err)
	}
}

// slowReplica runs meanwhile between the read and the write of its first announcement.
type slowReplica struct {
	*store.Store
	meanwhile func()
}

func (s *slowReplica) ActiveAnnouncements(ctx context.Context, now time.Time) ([]broker.Announcement, error) {
	active, err := s.Store.ActiveAnnouncements(ctx, now)
	if run := s.meanwhile; run != nil {
		s.meanwhile = nil
		run()
	}
	return active, err
}

// waitsForALock reports whether a transaction of the database waits for another.
func waitsForALock(t *testing.T, db *database.DB) bool {
	t.Helper()
	var waiting int
	if err := db.Conn(t.Context()).Raw(`SELECT count(*) FROM pg_locks WHERE NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting).Error; err != nil {
		t.Fatal(err)
	}
	return waiting > 0
}

func TestTwoReplicasDoNotPassTheLimitOfAnnouncements(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"two announcements": "second", "a repeated request": "first"} {
		t.Run(name, func(t *testing.T) {
			url := storetest.PostgresURL(t)
			k := kitOn(t, store.New(storetest.OpenDB(t, url), storetest.Sealer(t)))
			watching := storetest.OpenDB(t, url) // the two transactions take both connections of the first
			slow := &slowReplica{Store: k.store}
			log := slog.New(slog.DiscardHandler)
			one := &broker.Announcements{Store: slow, Targets: k.targets, Now: k.clock.Now, Log: log}
			two := &broker.Announcements{Store: k.store, Targets: k.targets, Now: k.clock.Now, Log: log}
			for range protocol.MaxAnnouncements - 1 {
				_, _, err := two.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "Noon"})
				k.must(err)
			}
			done, second := make(chan struct{}), error(nil)
			slow.meanwhile = func() {
				go func() {
					defer close(done)
					_, _, second = two.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "x", AnnouncementID: id})
				}()
				for !waitsForALock(t, watching) {
					select {
					case <-done: // it did not wait
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
			_, isNew, err := one.Announce(k.ctx, k.user, &protocol.AnnounceRequest{Text: "x", AnnouncementID: "first"})
			<-done
			if err != nil || !isNew {
				t.Errorf("the first: new %t, %v", isNew, err)
			}
			if full := protocol.CodeOf(second) == protocol.CodeConflict; full != (id == "second") {
				t.Errorf("the second: %v", second)
			}
			list, err := two.List(k.ctx)
			if err != nil || len(list) != protocol.MaxAnnouncements {
				t.Errorf("%d announcements, %v", len(list), err)
			}
		})
	}
}
