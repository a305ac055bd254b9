package feed_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/feed"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
)

// Two replicas share a database: one writes, and readers of both are disconnected
// at random.
func TestResumeIsExactOnEveryDatabase(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		st := openStore(t, schema.New(t, kind))
		writing, writer := newReplica(t, st)
		watching, _ := newReplica(t, st)

		const changes = 150
		task := newTask(t, st, writer)
		var readers sync.WaitGroup
		for i, ts := range []*httptest.Server{writing, watching} {
			seed := rand.Uint64()
			readers.Go(func() {
				cuts, err := followWithCuts(t.Context(), ts.URL+"/api/tasks/"+task.ID+"/events", changes, 12,
					rand.New(rand.NewPCG(seed, 1)))
				if err != nil {
					t.Errorf("replica %d, seed %d: %v", i, seed, err)
				}
				t.Logf("replica %d, seed %d: %d cuts", i, seed, cuts)
			})
		}
		for rev := task.Rev + 1; rev <= changes; rev++ {
			title := fmt.Sprint("title ", rev)
			changed, err := writer.Update(t.Context(), broker.Caller{UserID: user}, task.ID, broker.TaskPatch{Title: &title})
			if err != nil || changed.Rev != rev {
				t.Fatalf("rev %d: %+v, %v", rev, changed, err)
			}
		}
		readers.Wait()
	})
}

func TestHintsOfOtherReplicasArrive(t *testing.T) {
	t.Parallel()
	st := openStore(t, schema.SQLite(t))
	_, writer := newReplica(t, st)
	watching, _ := newReplica(t, st)
	task := newTask(t, st, writer)
	r := connect(t, watching.URL+"/api/events", "")
	r.want(fmt.Sprintf(`1 hello {"tasks":[{"taskId":%q,"rev":%d,"agentStatus":"none","reason":"","openInteractions":0}]}`,
		task.ID, task.Rev))
	title := "another"
	if _, err := writer.Update(t.Context(), broker.Caller{UserID: user}, task.ID,
		broker.TaskPatch{Title: &title}); err != nil {
		t.Fatal(err)
	}
	r.want(fmt.Sprintf(`2 task {"taskId":%q,"rev":%d,"agentStatus":"none","reason":"","openInteractions":0}`,
		task.ID, task.Rev+1))
}

func openStore(t *testing.T, url string) *store.Store {
	t.Helper()
	keyset, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.Parse(keyset)
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), url, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return store.New(db, sealer)
}

// newReplica starts the parts of a broker process that feeds need.
func newReplica(t *testing.T, st *store.Store) (*httptest.Server, *broker.Tasks) {
	t.Helper()
	f := feed.New(&broker.Feeds{Store: st}, feed.Options{Log: discard, Poll: 5 * time.Millisecond})
	tasks := &broker.Tasks{
		Store: st, Updater: &broker.Updater{Store: st, Notifier: f, Now: time.Now}, Now: time.Now, Log: discard,
	}
	ts := server(t, f, always)
	runFeed(t, f)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return ts, tasks
}

func newTask(t *testing.T, st *store.Store, tasks *broker.Tasks) *protocol.Task {
	t.Helper()
	if err := st.CreateUser(t.Context(), &broker.User{
		ID: user, Email: "a@example.com", CreatedAt: time.Now().UTC(),
	}); err != nil {
		t.Fatal(err)
	}
	task, err := tasks.Create(t.Context(), broker.Caller{UserID: user},
		&protocol.CreateTaskRequest{Title: "title", Mode: protocol.ModeChat})
	if err != nil {
		t.Fatal(err)
	}
	return task
}
