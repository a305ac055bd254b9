package store_test

import (
	"strings"
	"sync"
	"testing"

	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
)

// Replicas that start at once get one root, which stays for the life of the database.
func TestSessionKeyRootIsOneForAllReplicas(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		roots := make([]string, 8)
		var started sync.WaitGroup
		for i := range roots {
			started.Go(func() {
				root, err := s.SessionKeyRoot(t.Context())
				if err != nil {
					t.Error(err)
				}
				roots[i] = root.Reveal()
			})
		}
		started.Wait()
		for _, root := range roots {
			if len(root) != 64 || root != roots[0] {
				t.Errorf("%d characters, the first %d, equal %t", len(root), len(roots[0]), root == roots[0])
			}
		}
	})
}

func TestTheSessionKeyRootIsSealed(t *testing.T) {
	t.Parallel()
	db := storetest.OpenDB(t, storetest.SQLiteURL(t))
	root, err := store.New(db, storetest.Sealer(t)).SessionKeyRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kept string
	if err := db.Conn(t.Context()).Raw(`SELECT value FROM meta WHERE name = 'session-keys'`).Row().Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(kept, root.Reveal()) || len(kept) < 100 {
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
