package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/auth"
	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 891_000, time.UTC)

// Store combines the store interfaces of all use cases.
type Store interface {
	broker.UpdateStore
	broker.TaskStore
	broker.SessionStore
	broker.IngestStore
	broker.ReconcilerStore
	broker.VerifyStore
	broker.InteractionStore
	broker.FeedStore
	broker.HostStore
	broker.HostLifeStore
	broker.AuditReader
	broker.TargetStore
	broker.MaintenanceStore
	broker.SessionEndStore
	broker.RevocationStore
	broker.QueueStore
	broker.AnnouncementStore
	broker.ForgeTokenStore
	broker.ShareStore
	broker.TemplateStore
	auth.Store
}

// Run checks that a store fulfills the contract of Store. open returns an empty
// one. The tests named without are left out, because they count rows of all users.
func Run(t *testing.T, open func(t testing.TB) Store, without ...string) {
	for _, c := range []struct {
		name string
		test func(*testing.T, suite)
	}{
		{"Users", testUsers},
		{"LastAdministrator", testLastAdministrator},
		{"Erasure", testErasure},
		{"Tokens", testTokens},
		{"Links", testLinks},
		{"Logins", testLogins},
		{"SignIns", testSignIns},
		{"Attempts", testAttempts},
		{"SecondFactors", testSecondFactors},
		{"CodesWorkOnce", testCodesWorkOnce},
		{"ForgeTokens", testForgeTokens},
		{"Hosts", testHosts},
		{"Origins", testOrigins},
		{"Tasks", testTasks},
		{"Search", testSearch},
		{"FrequentWords", testFrequentWords},
		{"TaskStates", testTaskStates},
		{"SearchFollows", testSearchFollows},
		{"SearchOfNeighbours", testSearchOfNeighbours},
		{"Since", testSince},
		{"Interactions", testInteractions},
		{"LastDiff", testLastDiff},
		{"Secrets", testSecrets},
		{"Batch", testBatch},
		{"BatchTaken", testTaken},
		{"BatchMoved", testMoved},
		{"Append", testAppend},
		{"Locking", testLocking},
		{"Due", testDue},
		{"Silent", testSilent},
		{"Purge", testPurge},
		{"Ends", testEnds},
		{"HastenRetries", testHastenRetries},
		{"Queue", testQueue},
		{"DueQueues", testDueQueues},
		{"Announcements", testAnnouncements},
		{"Shares", testShares},
		{"EndsOfShares", testEndsOfShares},
		{"Templates", testTemplates},
		{"Openable", testOpenable},
		{"Announce", testAnnounce},
		{"HostLives", testHostLives},
		{"Audit", testAudit},
	} {
		if !slices.Contains(without, c.name) {
			t.Run(c.name, func(t *testing.T) { c.test(t, suite{t, t.Context(), open(t)}) })
		}
	}
}

type suite struct {
	*testing.T
	ctx   context.Context
	store Store
}

func (s suite) must(err error) {
	s.Helper()
	testenv.Must(s, err)
}

func (s suite) code(err error, want protocol.Code) {
	s.Helper()
	testenv.WantCode(s, err, want)
}

func (s suite) user() string {
	s.Helper()
	id := protocol.NewID()
	s.must(s.store.CreateUser(s.ctx, &broker.User{ID: id, Email: id + "@Example.org", PasswordHash: "h", CreatedAt: now}))
	return id
}

func (s suite) task(userID string) *broker.Task {
	s.Helper()
	task := &broker.Task{
		ID: protocol.NewID(), UserID: userID, Title: "x", Mode: protocol.ModeAgent, AgentStatus: protocol.StatusNone,
		WebhookSecret: seal.NewSecret("webhook-secret"), CreatedAt: now, LastActivityAt: now, ChangedAt: now,
	}
	s.must(s.store.CreateTask(s.ctx, task))
	return task
}

// apply writes a batch for a task under its lock.
func (s suite) apply(taskID string, fill func(*broker.Batch)) error {
	return s.store.Write(s.ctx, func(ctx context.Context) error {
		task, err := s.store.LockTask(ctx, taskID)
		if err != nil {
			return err
		}
		batch := &broker.Batch{Task: task}
		fill(batch)
		return s.store.Apply(ctx, batch)
	})
}

func testUsers(t *testing.T, s suite) {
	u := &broker.User{ID: protocol.NewID(), Email: "Ada@Example.org", PasswordHash: "one", Admin: true, CreatedAt: now}
	s.must(s.store.CreateUser(s.ctx, u))
	s.code(s.store.CreateUser(s.ctx, &broker.User{
		ID: protocol.NewID(), Email: "ADA@example.org", CreatedAt: now,
	}), protocol.CodeConflict)
	got, err := s.store.UserByEmail(s.ctx, "aDA@example.org")
	s.must(err)
	if want := (broker.User{
		ID: u.ID, Email: "ada@example.org", PasswordHash: "one", Admin: true, CreatedAt: now,
	}); *got != want {
		t.Errorf("%+v", got)
	}
	s.must(s.store.UpdatePassword(s.ctx, u.ID, "two", now))
	got, err = s.store.User(s.ctx, u.ID)
	s.must(err)
	if got.PasswordHash != "two" || got.SessionsAfter == nil || !got.SessionsAfter.Equal(now) {
		t.Errorf("%+v", got)
	}
	_, err = s.store.User(s.ctx, "unknown")
	s.code(err, protocol.CodeNotFound)
	_, err = s.store.UserByEmail(s.ctx, "nobody@example.org")
	s.code(err, protocol.CodeNotFound)
	s.code(s.store.UpdatePassword(s.ctx, "unknown", "x", now), protocol.CodeNotFound)
}

func testTokens(t *testing.T, s suite) {
	owner, other := s.user(), s.user()
	expires := now.Add(time.Hour)
	token := &broker.APIToken{
		ID: protocol.NewID(), UserID: owner, Name: "ci", Kind: broker.TokenUser, Scopes: []broker.Scope{broker.ScopeHosts},
		Hash: []byte{0, 1, 255}, ExpiresAt: &expires, CreatedAt: now,
	}
	s.must(s.store.CreateToken(s.ctx, token))
	again := *token
	again.ID = protocol.NewID()
	s.code(s.store.CreateToken(s.ctx, &again), protocol.CodeConflict)
	got, err := s.store.TokenByHash(s.ctx, []byte{0, 1, 255})
	s.must(err)
	if got.ID != token.ID || !got.ExpiresAt.Equal(expires) || got.LastUsedAt != nil || got.Kind != broker.TokenUser ||
		!slices.Equal(got.Scopes, token.Scopes) {
		t.Errorf("%+v", got)
	}
	s.must(s.store.TouchToken(s.ctx, token.ID, now.Add(time.Minute)))
	list, err := s.store.Tokens(s.ctx, owner)
	s.must(err)
	if len(list) != 1 || !list[0].LastUsedAt.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v", list)
	}
	list, err = s.store.Tokens(s.ctx, other)
	s.must(err)
	if len(list) != 0 {
		t.Errorf("another user's: %+v", list)
	}
	s.code(s.store.DeleteToken(s.ctx, other, token.ID, now), protocol.CodeNotFound)
	s.must(s.store.DeleteToken(s.ctx, owner, token.ID, now))
	s.code(s.store.DeleteToken(s.ctx, owner, token.ID, now), protocol.CodeNotFound)
	_, err = s.store.TokenByHash(s.ctx, token.Hash)
	s.code(err, protocol.CodeNotFound)
}

func testLinks(t *testing.T, s suite) {
	user := s.user()
	s.must(s.store.CreateLink(s.ctx, []byte("a"), user, now.Add(time.Minute)))
	s.must(s.store.CreateLink(s.ctx, []byte("b"), user, now.Add(time.Minute)))
	_, err := s.store.UseLink(s.ctx, []byte("b"), now.Add(time.Minute))
	s.code(err, protocol.CodeNotFound) // expired
	_, err = s.store.UseLink(s.ctx, []byte("c"), now)
	s.code(err, protocol.CodeNotFound)
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := s.store.UseLink(s.ctx, []byte("a"), now); err == nil && got == user {
				won.Add(1)
			} else if protocol.CodeOf(err) != protocol.CodeNotFound {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d winners", won.Load())
	}
}

func testLogins(t *testing.T, s suite) {
	s.must(s.store.CommitLogin(s.ctx, "tok", []byte{1}, now.Add(time.Hour)))
	s.must(s.store.CommitLogin(s.ctx, "tok", []byte{2, 0}, now.Add(2*time.Hour)))
	data, _, found, err := s.store.FindLogin(s.ctx, "tok")
	s.must(err)
	if !found || !bytes.Equal(data, []byte{2, 0}) {
		t.Errorf("%v %t", data, found)
	}
	s.must(s.store.CommitLogin(s.ctx, "old", []byte{1}, now))
	s.must(s.store.CreateLink(s.ctx, []byte("l"), s.user(), now))
	n, err := s.store.PruneLogins(s.ctx, now)
	s.must(err)
	if n != 2 {
		t.Errorf("%d pruned", n)
	}
	s.must(s.store.DeleteLogin(s.ctx, "tok", now))
	s.must(s.store.DeleteLogin(s.ctx, "tok", now))
	if _, _, found, err = s.store.FindLogin(s.ctx, "tok"); found || err != nil {
		t.Errorf("%t %v", found, err)
	}
}

func testHosts(t *testing.T, s suite) {
	until := now.Add(time.Hour)
	h := &broker.Host{
		ID: protocol.NewID(), Name: "b", URL: "https://b.example", Password: seal.NewSecret("one"),
		PreviousPassword: seal.NewSecret("zero"), PreviousUntil: &until, Health: broker.HostUnknown, CreatedAt: now,
	}
	s.must(s.store.CreateHost(s.ctx, h))
	s.must(s.store.CreateHost(s.ctx, &broker.Host{
		ID: protocol.NewID(), Name: "a", URL: "https://a.example", Health: broker.HostUnknown, CreatedAt: now,
	}))
	s.code(s.store.CreateHost(s.ctx, &broker.Host{ID: protocol.NewID(), Name: "a", CreatedAt: now}), protocol.CodeConflict)
	got, err := s.store.Host(s.ctx, h.ID)
	s.must(err)
	if got.Password.Reveal() != "one" || got.PreviousPassword.Reveal() != "zero" || !got.PreviousUntil.Equal(until) {
		t.Errorf("%+v", got)
	}
	list, err := s.store.Hosts(s.ctx)
	s.must(err)
	if len(list) != 2 || list[0].Name != "a" || !list[1].Password.IsZero() {
		t.Errorf("%+v", list)
	}
	refuse := errors.New("no")
	_, err = s.store.UpdateHost(s.ctx, h.ID, func(h *broker.Host) error { h.Name = "z"; return refuse })
	if !errors.Is(err, refuse) {
		t.Errorf("%v", err)
	}
	_, err = s.store.UpdateHost(s.ctx, h.ID, func(h *broker.Host) error {
		h.PreviousPassword, h.Password = h.Password, seal.NewSecret("two")
		return nil
	})
	s.must(err)
	s.must(s.store.SetHostHealth(s.ctx, h.ID, broker.HostFull, true, "https://before.example", now))
	got, err = s.store.Host(s.ctx, h.ID)
	if s.must(err); got.Names {
		t.Error("the host at another URL named its answer")
	}
	s.must(s.store.SetHostHealth(s.ctx, h.ID, broker.HostFull, true, h.URL, now))
	s.must(s.store.SetHostHealth(s.ctx, h.ID, broker.HostOK, false, h.URL, now.Add(time.Second)))
	got, err = s.store.Host(s.ctx, h.ID)
	s.must(err)
	if got.Name != "b" || got.Password.Reveal() != "two" || got.PreviousPassword.Reveal() != "one" ||
		got.Health != broker.HostOK || !got.Names || !got.CheckedAt.Equal(now.Add(time.Second)) {
		t.Errorf("%+v", got)
	}
	s.code(s.store.SetHostHealth(s.ctx, "none", broker.HostOK, false, "", now), protocol.CodeNotFound)
	task := s.task(s.user())
	s.must(s.apply(task.ID, func(b *broker.Batch) {
		b.Task.HostID = h.ID
		b.Turns = []broker.Turn{{ID: "t", TaskID: task.ID, State: broker.TurnAnnounced, AnnouncedAt: now}}
	}))
	list, err = s.store.Hosts(s.ctx)
	if err != nil || len(list) != 2 || list[0].OpenTurns != 0 || list[1].ID != h.ID || list[1].OpenTurns != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if got, err = s.store.Host(s.ctx, h.ID); err != nil || got.OpenTurns != 0 { // check-ins read it: they do not count
		t.Errorf("%+v, %v", got, err)
	}
	remove := func(id string) error {
		_, err := s.store.DeleteHost(s.ctx, id, true)
		return err
	}
	s.code(remove(h.ID), protocol.CodeConflict)
	s.must(remove(list[0].ID))
	s.code(remove(list[0].ID), protocol.CodeNotFound)
}

func testTasks(t *testing.T, s suite) {
	owner, other := s.user(), s.user()
	task := s.task(owner)
	_, err := s.store.Task(s.ctx, other, task.ID)
	s.code(err, protocol.CodeNotFound)
	s.must(s.apply(task.ID, func(b *broker.Batch) {
		b.Task.LastTurn = &protocol.LastTurn{ID: "t", FinishReason: protocol.FinishStop, Usage: []byte(`{"a":"<&>"}`)}
		b.Task.Cursor = protocol.Cursor{Epoch: 1 << 40, Seq: 1 << 50}
		b.Task.LastEventAt = &now
	}))
	got, err := s.store.Task(s.ctx, owner, task.ID)
	s.must(err)
	if fmt.Sprintf("%+v", got.LastTurn) != fmt.Sprintf("%+v", &protocol.LastTurn{
		ID: "t", FinishReason: "stop", Usage: []byte(`{"a":"<&>"}`),
	}) ||
		got.Cursor != (protocol.Cursor{Epoch: 1 << 40, Seq: 1 << 50}) || !got.LastEventAt.Equal(now) ||
		!got.CreatedAt.Equal(now) {
		t.Errorf("%+v", got)
	}
	s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.DeletedAt = &now }))
	_, err = s.store.Task(s.ctx, owner, task.ID)
	s.code(err, protocol.CodeNotFound)
	if got, err := s.store.AnyTask(s.ctx, task.ID); err != nil || got.DeletedAt == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func testOrigins(t *testing.T, s suite) {
	h := &broker.Host{
		ID: protocol.NewID(), Name: "h", URL: "https://h.example", Health: broker.HostUnknown, CreatedAt: now,
	}
	s.must(s.store.CreateHost(s.ctx, h))
	for _, o := range [][2]string{
		{"u1", "http://own"},
		{"u1", "http://own"},
		{"u2", "http://theirs"},
		{h.ID, "http://shared"},
		{"no-such-host", "http://gone"},
	} {
		s.must(s.store.AddStreamOrigin(s.ctx, o[0], o[1]))
	}
	got, err := s.store.StreamOrigins(s.ctx, "u1")
	s.must(err)
	slices.Sort(got)
	if want := []string{"http://own", "http://shared"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for i := range 100 { // an origin that changes at every check-in
		s.must(s.store.AddStreamOrigin(s.ctx, "u3", "http://own:"+strconv.Itoa(1000+i)))
	}
	got, err = s.store.StreamOrigins(s.ctx, "u3")
	s.must(err)
	if len(got) > 33 || !slices.Contains(got, "http://own:1099") || !slices.Contains(got, "http://shared") {
		t.Errorf("%d, %q", len(got), got)
	}
}
