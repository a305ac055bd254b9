package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

var errDown = &protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server"}

// down makes every request to end a session fail.
func (h *fakeHost) down(err error) { h.onDelete = func(string) error { return err } }

// ended returns the sessions that the host was asked to end since the last call.
func (h *fakeHost) ended() []string {
	h.ending.Lock()
	defer h.ending.Unlock()
	ids := h.deleted
	h.deleted = nil
	return ids
}

func (k *kit) register(name string) string {
	k.t.Helper()
	host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{
		Name: name, URL: "https://" + name + ".example", Password: "p",
	})
	k.must(err)
	return host.ID
}

// session checks in a task on a registered host, or on a URL of its own for hostID "".
func (k *kit) session(hostID string) string {
	k.t.Helper()
	req := &protocol.CreateTaskRequest{Title: "x", HostID: hostID}
	if hostID == "" {
		req.AgentURL, req.AgentPassword = "https://own.example", "p"
	}
	task, err := k.tasks.Create(k.ctx, k.user, req)
	k.must(err)
	k.checkIn(task.ID, "go")
	return task.ID
}

func (k *kit) owedEnds(hostID string) int {
	k.t.Helper()
	list, err := k.hosts.List(k.ctx, k.user)
	k.must(err)
	for _, h := range list {
		if h.ID == hostID {
			return h.OwedEnds
		}
	}
	return 0
}

// round tries the due ends, as a restarted broker does, and compares
// the sessions which the host was asked to end.
func (k *kit) round(after time.Duration, want ...string) {
	k.t.Helper()
	k.host.ended()
	k.clock.Advance(after)
	restarted := *k.ends
	restarted.Round(k.ctx)
	if got := k.host.ended(); fmt.Sprint(got) != fmt.Sprint(want) {
		k.t.Errorf("asked to end %v, want %v", got, want)
	}
}

func TestASessionEndsWhenItsHostReturns(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		host := k.register("a")
		task := k.session(host)
		k.host.down(errDown)
		k.must(k.delete(k.user.UserID, task))
		same(t, k.host.ended(), `['`+task+`']`)
		if n := k.owedEnds(host); n != 1 {
			t.Errorf("the host owes %d ends", n)
		}
		same(t, fault(k.hosts.Delete(k.ctx, k.user, host, false)), `{'code':'conflict','error':'The host still has 1 sessions of deleted tasks',
			'hint':'Start the host, so that it ends them, or remove it with force: their agents may go on running'}`)
		k.round(3 * time.Second)
		k.round(time.Second, task) // 4 s after the first attempt
		k.round(7 * time.Second)
		k.round(time.Second, task) // 8 s after the second one
		k.clock.Advance(72 * time.Hour)
		k.upkeep.Prune(k.ctx)
		k.host.down(nil)
		k.round(0, task)
		if n := k.owedEnds(host); n != 0 {
			t.Errorf("the host still owes %d ends", n)
		}
		k.round(time.Hour)
		k.upkeep.Prune(k.ctx)
		if _, err := k.store.AnyTask(k.ctx, task); protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("the deleted task is still there: %v", err)
		}
		k.must(k.hosts.Delete(k.ctx, k.user, host, false))
	})
}

func TestAHealthyProbeHastensTheEnds(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	host := k.register("a")
	var probe error = errDown
	k.host.onReady = func(broker.Target) error { return probe }
	k.hosts.Probe(k.ctx)
	k.host.down(errDown)
	first, second := k.session(host), k.session(host)
	k.must(k.delete(k.user.UserID, first))
	k.clock.Advance(time.Second)
	k.must(k.delete(k.user.UserID, second))
	k.round(4*time.Second, first) // the host does not answer, so the second one is not tried
	k.round(7 * time.Second)
	k.hosts.Probe(k.ctx)
	k.round(0)
	k.host.down(nil)
	probe = nil
	k.hosts.Probe(k.ctx)
	k.round(0, first, second)
	if n := k.owedEnds(host); n != 0 {
		t.Errorf("the host still owes %d ends", n)
	}
}

// A host that is down must not delay the ends of the others.
func TestEndsOfOtherHostsAreMadeMeanwhile(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	down, up := k.register("down"), k.register("up")
	lost, ended := k.session(down), k.session(up)
	k.host.down(errDown)
	for _, id := range []string{lost, ended} {
		k.must(k.delete(k.user.UserID, id))
	}
	k.host.onDelete = func(sessionID string) error {
		if sessionID == lost {
			return errDown
		}
		return nil
	}
	k.clock.Advance(4 * time.Second)
	k.ends.Round(k.ctx)
	if k.owedEnds(down) != 1 || k.owedEnds(up) != 0 {
		t.Errorf("%d ends owed by the host that is down, %d by the other", k.owedEnds(down), k.owedEnds(up))
	}
}

// Two replicas that found the same end must not both ask the host.
func TestReplicasClaimAnEndOnce(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task := k.session(k.register("a"))
		k.host.down(errDown)
		k.must(k.delete(k.user.UserID, task))
		k.clock.Advance(4 * time.Second)
		due, err := k.store.DueEnds(k.ctx, k.clock.Now(), 10)
		k.must(err)
		claims := 0
		for range 2 {
			claimed, err := k.store.ClaimEnd(k.ctx, &due[0], k.clock.Now().Add(time.Minute))
			k.must(err)
			if claimed {
				claims++
			}
		}
		if len(due) != 1 || claims != 1 {
			t.Errorf("%d due, %d claims", len(due), claims)
		}
	})
}

func TestAHostWithOwedEndsIsRemovedOnlyWithForce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	host := k.register("a")
	task := k.session(host)
	k.host.down(errDown)
	k.must(k.delete(k.user.UserID, task))
	k.must(k.hosts.Delete(k.ctx, k.user, host, true))
	k.round(time.Hour)
}

// The host opens the session after it was asked to end it.
func TestATaskDeletedDuringItsCheckInOwesItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		earlier bool
	}{{"of its first turn", false}, {"of a later turn", true}} {
		t.Run(c.what, func(t *testing.T) {
			k := newKit(t)
			host := k.register("a")
			task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x", HostID: host})
			k.must(err)
			if c.earlier {
				k.checkIn(task.ID, "first")
			}
			k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
				k.must(k.delete(k.user.UserID, task.ID))
				return &protocol.OpenSessionResponse{Token: "t", Cursor: req.Cursor}, nil
			}
			_, err = k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "go"})
			if protocol.CodeOf(err) != protocol.CodeNotFound {
				t.Errorf("the check-in: %v", err)
			}
			if n := k.owedEnds(host); n != 1 {
				t.Errorf("the host owes %d ends", n)
			}
			k.round(4*time.Second, task.ID)
			k.must(k.hosts.Delete(k.ctx, k.user, host, false))
		})
	}
}

// No administrator can remove a URL that a user gave.
func TestEndsAtURLsOfUsersAreGivenUp(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.session("")
	k.host.down(errDown)
	k.must(k.delete(k.user.UserID, task))
	k.round(7*24*time.Hour, task)
	k.round(time.Hour, task)
	k.round(time.Hour)
}

func TestWhatEndsAnAttempt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		answer error
		want   int
	}{
		{"the host confirmed", nil, 0},
		{"the host has no such session", protocol.Errorf(protocol.CodeNotFound, "no session"), 0},
		{"the session is gone", protocol.Errorf(protocol.CodeGone, "gone"), 0},
		{"a gateway answered", fmt.Errorf("200: %w", broker.ErrDoubtful), 1},
		{"the host is busy", protocol.Errorf(protocol.CodeBusy, "busy"), 1},
		{"the password is wrong", protocol.Errorf(protocol.CodeBadGateway, "The agent host failed"), 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			k := newKit(t)
			host := k.register("a")
			task := k.session(host)
			k.host.down(c.answer)
			k.must(k.delete(k.user.UserID, task))
			if n := k.owedEnds(host); n != c.want {
				t.Errorf("the host owes %d ends, want %d", n, c.want)
			}
		})
	}
}

// A user who deletes a task is told what its host keeps, and loses only what was shown.
func TestADeletionTellsWhatTheHostKeeps(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		host := k.register("a")
		list := &protocol.OnlyCopies{ID: "shown", Items: []protocol.OnlyCopy{{Kind: protocol.OnlyIgnored, Name: ".env", Count: 1}}}
		begin := func() string {
			task := k.session(host)
			k.host.onlyCopies = list
			found, err := k.tasks.OnlyCopies(k.ctx, k.user.UserID, task)
			k.must(err)
			same(t, found, `{'id':'shown','items':[{'count':1,'kind':'ignored','name':'.env'}]}`)
			return task
		}
		task := begin()
		_, err := k.tasks.Delete(k.ctx, k.user.UserID, task, "outdated")
		same(t, fault(err), `{'code':'conflict','error':'The workspace holds other things now than those that were confirmed',
			'hint':'Look again at what exists only there'}`)
		if ended := k.host.ended(); len(ended) != 0 {
			t.Errorf("ended %v", ended)
		}
		done, err := k.tasks.Delete(k.ctx, k.user.UserID, task, "shown")
		k.must(err)
		if same(t, done, `{'success':true}`); k.host.confirmed != "shown" {
			t.Errorf("confirmed %q", k.host.confirmed)
		}
		done, err = k.tasks.Delete(k.ctx, k.user.UserID, begin(), "")
		if err != nil || !done.Kept.Exist() || done.Kept.ID != "shown" || done.Pending || k.host.confirmed != "" {
			t.Errorf("%+v, confirmed %q, %v", done, k.host.confirmed, err)
		}
		task = begin()
		k.host.onlyCopies = nil // an old host, or one that does not answer
		done, err = k.tasks.Delete(k.ctx, k.user.UserID, task, "shown")
		k.must(err)
		same(t, done, `{'success':true}`)
	})
}

// A host that was away when its task was deleted deletes what the user confirmed, and nothing that came later.
func TestAConfirmationHoldsForALateEnd(t *testing.T) {
	t.Parallel()
	listOf := func(id string) *protocol.OnlyCopies {
		return &protocol.OnlyCopies{ID: id, Items: []protocol.OnlyCopy{{Kind: protocol.OnlyIgnored, Name: ".env", Count: 1}}}
	}
	for _, c := range []struct {
		what      string
		confirmed string
		later     *protocol.OnlyCopies
		isKept    bool
	}{
		{"the workspace is as it was shown", "shown", listOf("shown"), false},
		{"the workspace has changed", "shown", listOf("other"), true},
		{"nothing exists only there any more", "shown", nil, false},
		{"nothing was confirmed", "", listOf("shown"), true},
	} {
		t.Run(c.what, func(t *testing.T) {
			storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
				k := kitOn(t, open(t))
				host := k.register("a")
				task := k.session(host)
				k.host.down(errDown)
				done, err := k.tasks.Delete(k.ctx, k.user.UserID, task, c.confirmed)
				k.must(err)
				if same(t, done, `{'pending':true,'success':true}`); k.owedEnds(host) != 1 {
					t.Fatalf("%d ends are owed", k.owedEnds(host))
				}
				k.round(4*time.Second, task) // the host is still away
				k.host.down(nil)
				k.host.onDelete, k.host.onlyCopies = nil, c.later
				k.round(8*time.Second, task)
				if isKept := len(k.host.kept) > 0; isKept != c.isKept || k.owedEnds(host) != 0 {
					t.Errorf("kept: %t, want %t; %d ends are owed", isKept, c.isKept, k.owedEnds(host))
				}
			})
		})
	}
}

// A workspace can change between the two looks of a deletion, that of the broker and that of the host.
func TestADeletionKeepsWhatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.session(k.register("a"))
	k.host.untold = true
	k.host.onlyCopies = &protocol.OnlyCopies{
		ID: "now", Items: []protocol.OnlyCopy{{Kind: protocol.OnlyIgnored, Name: ".env", Count: 1}},
	}
	done, err := k.tasks.Delete(k.ctx, k.user.UserID, task, "before")
	if err != nil || done.Kept == nil || done.Kept.ID != "now" {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestOnlyIDsOfListsConfirm(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.session(k.register("a"))
	for _, id := range []string{"a\x00b", strings.Repeat("a", 10_000), "\xff"} {
		if _, err := k.tasks.Delete(k.ctx, k.user.UserID, task, id); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%q: %v", id, err)
		}
	}
}
