package broker_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/protocol"
)

const signedBody = `{"sessionId":"s","type":"text","id":"t1","text":"hello","timestamp":1}`

// signedKit has a task whose host announced that it signs.
func signedKit(t *testing.T) (*kit, *protocol.Task) {
	t.Helper()
	k := newKit(t)
	k.host.signs = true
	task := k.task()
	k.checkIn(task.ID, "hello")
	return k, task
}

func (k *kit) signed(taskID, password string, at time.Time) http.Header {
	k.t.Helper()
	key, err := signature.OfSession(seal.NewSecret(password), taskID)
	k.must(err)
	header := http.Header{}
	k.must(signature.Sign(header, "evt_1_1_1", at, []byte(signedBody), key))
	return header
}

func (k *kit) check(taskID string, header http.Header) protocol.Code {
	return protocol.CodeOf(k.ingest.CheckSignature(k.ctx, taskID, header, []byte(signedBody)))
}

func TestABodyNeedsASignatureOnceItsHostAnnouncedOne(t *testing.T) {
	t.Parallel()
	k, task := signedKit(t)
	other := k.task()
	now := k.clock.Now()
	changed := k.signed(task.ID, "agent-password", now)
	changed.Set(signature.HeaderID, "evt_1_1_2")
	for _, c := range []struct {
		name   string
		header http.Header
		want   protocol.Code
	}{
		{"signed", k.signed(task.ID, "agent-password", now), ""},
		{"not signed", http.Header{}, protocol.CodeSignatureMissing},
		{"with another password", k.signed(task.ID, "guess", now), protocol.CodeSignatureInvalid},
		{"for another session", k.signed(other.ID, "agent-password", now), protocol.CodeSignatureInvalid},
		{"another id", changed, protocol.CodeSignatureInvalid},
		{"almost five minutes old", k.signed(task.ID, "agent-password", now.Add(time.Second-signature.Tolerance)), ""},
		{"older", k.signed(task.ID, "agent-password", now.Add(-signature.Tolerance-time.Second)), protocol.CodeSignatureTime},
		{
			"in the future", k.signed(task.ID, "agent-password", now.Add(signature.Tolerance+time.Second)),
			protocol.CodeSignatureTime,
		},
		{"old and with another password", k.signed(task.ID, "guess", now.Add(-time.Hour)), protocol.CodeSignatureInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := k.check(task.ID, c.header); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := k.check(other.ID, http.Header{}); got != "" {
		t.Errorf("a task without an announcement: %q", got)
	}
	err := k.ingest.CheckSignature(k.ctx, task.ID, k.signed(task.ID, "agent-password", now.Add(-time.Hour)),
		[]byte(signedBody))
	same(t, fault(err), `{'code':'signature_time','error':'The webhook timestamp is too far away',
		'hint':'The clocks of host and broker differ by more than five minutes','time':'`+now.UTC().Format(time.RFC3339)+`'}`)
}

func TestASignatureFollowsTheAgentPassword(t *testing.T) {
	t.Parallel()
	k, task := signedKit(t)
	if got := k.check(task.ID, k.signed(task.ID, "agent-password", k.clock.Now())); got != "" {
		t.Fatalf("before: %q", got)
	}
	next := "second-password"
	_, err := k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{AgentPassword: &next})
	k.must(err)
	k.clock.Advance(2 * time.Second)
	for _, c := range []struct {
		name, password string
		after          time.Duration
		want           protocol.Code
	}{
		{"the new one is found at once, although the old one was remembered", next, 0, ""},
		{"the old one is valid for a day", "agent-password", 0, ""},
		{"the old one is invalid after a day", "agent-password", 25 * time.Hour, protocol.CodeSignatureInvalid},
		{"the new one stays valid", next, 0, ""},
	} {
		k.clock.Advance(c.after)
		if got := k.check(task.ID, k.signed(task.ID, c.password, k.clock.Now())); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Between the two, the broker reads the events from the host itself.
func TestAHostThatNoLongerSignsIsAcceptedAfterTheNextOpening(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(k *kit, id string){
		"check-in": func(k *kit, id string) { k.checkIn(id, "again") },
		"attach": func(k *kit, id string) {
			_, err := k.sessions.Attach(k.ctx, k.user.UserID, &protocol.AttachRequest{TaskID: id})
			k.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, task := signedKit(t)
			k.host.signs = false
			if got := k.check(task.ID, http.Header{}); got != protocol.CodeSignatureMissing {
				t.Fatalf("before: %q", got)
			}
			open(k, task.ID)
			k.clock.Advance(2 * time.Second)
			if got := k.check(task.ID, http.Header{}); got != "" {
				t.Errorf("afterwards: %q", got)
			}
			k.host.signs = true
			open(k, task.ID)
			k.clock.Advance(time.Minute)
			if got := k.check(task.ID, http.Header{}); got != protocol.CodeSignatureMissing {
				t.Errorf("after the update: %q", got)
			}
		})
	}
}

// What a host without its key posts is refused, but it is not lost: the broker reads it from the host
// within seconds.
func TestARefusedSignatureHasTheHostRead(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		k.host.signs = true
		k.reconciler.Now, k.ingest.Now, k.sessions.Now, k.updater.Now = time.Now, time.Now, time.Now, time.Now
		k.ingest.Reconciler = k.reconciler
		task := k.task()
		in := k.checkIn(task.ID, "go")
		j := &journal{epoch: 1, open: in.TurnID}
		k.host.onEvents = j.page
		k.mustSend(task.ID, "", string(j.add(in.TurnID, text("posted"))))
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		go k.reconciler.Run(ctx)
		time.Sleep(6 * time.Second)
		for _, c := range []struct {
			name, password string
			after          time.Duration // the signature's age
			want           protocol.Code
			pulls          int
		}{
			{"signed", "agent-password", 0, "", 0},
			{"with another password", "guess", 0, protocol.CodeSignatureInvalid, 1},
			{"old", "agent-password", time.Hour, protocol.CodeSignatureTime, 1},
		} {
			synctest.Wait()
			before := j.count()
			if got := k.check(task.ID, k.signed(task.ID, c.password, time.Now().Add(-c.after))); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			time.Sleep(wakeTime)
			synctest.Wait()
			if got := j.count() - before; got != c.pulls {
				t.Errorf("%s: the host was read %d times, want %d", c.name, got, c.pulls)
			}
		}
		j.add(in.TurnID, text("refused"))
		if got := k.check(task.ID, http.Header{}); got != protocol.CodeSignatureMissing {
			t.Fatalf("not signed: %q", got)
		}
		time.Sleep(wakeTime)
		synctest.Wait()
		if all := k.messages(task.ID); all[len(all)-1].Message != "refused" {
			t.Errorf("the refused event was not read: %+v", all)
		}
	})
}

// wakeTime is enough for a reconciliation that was requested, and less than until a silent turn's.
const wakeTime = 6 * time.Second

// countedKeys counts the queries for keys.
type countedKeys struct {
	broker.IngestStore
	queries int
}

func (c *countedKeys) WebhookKeys(ctx context.Context, taskID string, now time.Time) (*broker.WebhookKeys, error) {
	c.queries++
	return c.IngestStore.WebhookKeys(ctx, taskID, now)
}

// Signatures cost no query of their own, and wrong ones at most one a second.
func TestSignaturesAreCheckedWithoutAQuery(t *testing.T) {
	t.Parallel()
	k, task := signedKit(t)
	counted := &countedKeys{IngestStore: k.ingest.Store}
	k.ingest.Store = counted
	request := func(password string) {
		_, err := k.ingest.Secret(k.ctx, task.ID)
		k.must(err)
		_ = k.check(task.ID, k.signed(task.ID, password, k.clock.Now()))
	}
	for range 100 {
		request("agent-password")
	}
	if counted.queries != 1 {
		t.Errorf("%d queries for 100 requests", counted.queries)
	}
	k.clock.Advance(2 * time.Second)
	for range 100 {
		request("guess")
	}
	if counted.queries != 2 {
		t.Errorf("%d queries after 100 wrong signatures", counted.queries)
	}
}

func TestAnotherHostMakesItsOwnAnnouncement(t *testing.T) {
	t.Parallel()
	k, task := signedKit(t)
	k.host.signs = false
	elsewhere := "https://other.example"
	_, err := k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{AgentURL: &elsewhere})
	k.must(err)
	if got := k.check(task.ID, http.Header{}); got != "" {
		t.Errorf("before its first answer: %q", got)
	}
}

// A fragment is never sent, so a host of any version can post to the URL.
func TestAHostThatSignsIsAskedToSendTheTokenInAHeader(t *testing.T) {
	t.Parallel()
	const mark = "#" + protocol.WebhookInHeader
	k, task := signedKit(t)
	if hook := k.host.lastOpen().WebhookURL; strings.Contains(hook, "#") {
		t.Errorf("before its first answer: %s", hook)
	}
	k.checkIn(task.ID, "again")
	hook := k.host.lastOpen().WebhookURL
	if !strings.HasSuffix(hook, mark) {
		t.Fatalf("a host that signs: %s", hook)
	}
	address, err := url.Parse(hook)
	k.must(err)
	renewed, err := k.sessions.Renew(k.ctx, address.Query().Get("token"), "agent-password")
	k.must(err)
	if !strings.HasSuffix(renewed.WebhookURL, mark) {
		t.Errorf("a renewal: %s", renewed.WebhookURL)
	}
}
