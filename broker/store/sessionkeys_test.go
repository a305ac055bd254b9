package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Replicas that start at once get one root, which stays for the life of the database.
func TestSessionKeyRootIsOneForAllReplicas(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s, now := open(t), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		roots := make([]broker.SessionKeyRoot, 8)
		var started sync.WaitGroup
		for i := range roots {
			started.Go(func() {
				root, err := s.SessionKeyRoot(t.Context(), now.Add(time.Duration(i)*time.Hour))
				if err != nil {
					t.Error(err)
				}
				roots[i] = root
			})
		}
		started.Wait()
		for _, root := range roots {
			if len(root.Root.Reveal()) != 64 || root.Root.Reveal() != roots[0].Root.Reveal() ||
				!root.Since.Equal(roots[0].Since) {
				t.Errorf("%d characters since %v, the first %v", len(root.Root.Reveal()), root.Since, roots[0].Since)
			}
		}
	})
}

func TestAnInstallationWithTasksWaitsBeforeItBindsKeys(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s, now := open(t), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		user := &broker.User{ID: "u", Email: "u@example.org", PasswordHash: "h", CreatedAt: now}
		task := &broker.Task{
			ID: "t", UserID: "u", Title: "x", Mode: protocol.ModeAgent, AgentURL: "https://own.example",
			AgentStatus:   protocol.StatusNone,
			WebhookSecret: seal.NewSecret("s"), CreatedAt: now, LastActivityAt: now, ChangedAt: now,
		}
		if err := s.CreateUser(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateTask(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{now, now.Add(time.Minute)} { // a restart does not begin the wait again
			root, err := s.SessionKeyRoot(t.Context(), at)
			if err != nil || !root.Since.Equal(now.Add(broker.SessionKeyGrace)) {
				t.Errorf("%v, %v", root.Since, err)
			}
		}
	})
}

func TestTheSessionKeyRootIsSealed(t *testing.T) {
	t.Parallel()
	db := storetest.OpenDB(t, storetest.SQLiteURL(t))
	root, err := store.New(db, storetest.Sealer(t)).SessionKeyRoot(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var kept string
	if err := db.Conn(t.Context()).Raw(`SELECT value FROM meta WHERE name = 'session-keys'`).Row().Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(kept, root.Root.Reveal()) || len(kept) < 100 {
		t.Errorf("the database has %q", kept)
	}
}

func TestTheNotificationKeyIsOneForAllReplicasAndSealed(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		keys := make([]string, 8)
		var started sync.WaitGroup
		for i := range keys {
			started.Go(func() {
				key, err := s.NotificationKey(t.Context(), seal.NewSecret("key "+string(rune('a'+i))))
				if err != nil {
					t.Error(err)
				}
				keys[i] = key.Reveal()
			})
		}
		started.Wait()
		for _, key := range keys {
			if key != keys[0] || !strings.HasPrefix(key, "key ") {
				t.Errorf("%q, the first %q", key, keys[0])
			}
		}
	})
}
