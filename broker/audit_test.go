package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// audit returns the audit log as lines, the oldest first, with the caller's id written as ada.
func (k *kit) audit() []string {
	k.t.Helper()
	entries, err := k.store.AuditEntries(k.ctx, broker.AuditFilter{Limit: 100})
	k.must(err)
	lines := make([]string, len(entries))
	for i := range entries {
		e := &entries[i]
		detail, err := json.Marshal(e.Detail)
		k.must(err)
		line := fmt.Sprintf("%s by %s%s%s on %s %s%s %s",
			e.Action, e.Actor.Kind, prefixed(" ", e.Actor.ID), prefixed(" via ", e.Actor.Via),
			e.Subject.Kind, e.Subject.ID, prefixed(" ", e.Subject.Name), detail)
		lines[i] = strings.ReplaceAll(line, k.user.UserID, "ada")
	}
	return lines
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (k *kit) wantAudit(want ...string) {
	k.t.Helper()
	if got := k.audit(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		k.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEveryAnswerOfAPersonIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task := k.task()
		seq := int64(0)
		send := func(body string) {
			seq++
			k.mustSend(task.ID, "", seqd(1, seq, "t1", body))
		}
		ask := func(id string) {
			send(`'type':'interaction','interactionId':'` + id + `','state':'open','kind':'confirm','prompt':'rm -rf canary','toolName':'sh',
				'args':{'cmd':'rm -rf canary'},'level':'WARN'`)
		}
		resolve := func(id, answer string) {
			send(`'type':'interaction','interactionId':'` + id + `','kind':'confirm','state':'resolved','answer':` + answer)
		}
		for _, c := range []struct{ id, answer string }{
			{"owner", `{'approved':true,'reason':'canary','remembered':'canary','by':'` + k.user.UserID + `'}`},
			{"page", `{'approved':false,'by':'stream-token'}`},
			{"machine", `{'approved':true,'by':'local'}`},
			{"forged", `{'approved':true,'by':'another-user'}`},
			{"rule", `{'approved':true,'reason':'a rule'}`},
		} {
			ask(c.id)
			resolve(c.id, c.answer)
		}
		again := seqd(1, seq, "t1",
			`'type':'interaction','interactionId':'rule','kind':'confirm','state':'resolved','answer':{'approved':true,'reason':'a rule'}`)
		k.mustSend(task.ID, "", again)                              // delivered twice
		resolve("owner", `{'approved':false,'by':'stream-token'}`)  // decided already
		resolve("unasked", `{'text':'canary','by':'stream-token'}`) // its question comes later
		ask("unasked")                                              // which is no second answer
		send(`'type':'interaction','interactionId':'late','kind':'confirm','state':'expired'`)
		send(`'type':'text','id':'t','text':'canary'`)

		on := " on task " + task.ID + " "
		k.wantAudit(
			`task.answered by user ada`+on+
				`{"approved":"true","level":"WARN","question":"owner","remembered":"session","tool":"sh"}`,
			`task.answered by host via stream-token`+on+`{"approved":"false","level":"WARN","question":"page","tool":"sh"}`,
			`task.answered by host via local`+on+`{"approved":"true","level":"WARN","question":"machine","tool":"sh"}`,
			`task.answered by host via unknown`+on+`{"approved":"true","level":"WARN","question":"forged","tool":"sh"}`,
			`task.answered by host via stream-token`+on+`{"question":"unasked"}`,
		)
		if strings.Contains(strings.Join(k.audit(), ""), "canary") {
			t.Error("the log holds a text of the conversation")
		}
	})
}

func TestAPermissionModeIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	check := func(mode protocol.PermissionMode) error {
		_, err := k.sessions.CheckIn(ctx, k.user.UserID, &protocol.CheckInRequest{
			TaskID: task.ID, Message: "x", PermissionMode: mode,
		})
		return err
	}
	if protocol.CodeOf(check(protocol.ModeAuto)) != protocol.CodeInvalid {
		t.Error("the host takes modes")
	}
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "t", Cursor: req.Cursor, PermissionMode: req.PermissionMode}, nil
	}
	k.must(check(protocol.ModeAuto))
	k.must(check(""))
	k.wantAudit(`task.mode by user ada on task ` + task.ID + ` {"mode":"auto"}`) // not the refused one
}

func TestChangesOfHostsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.ctx = broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByOperator})
	made, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{
		Name: "build", URL: "https://one.example", Password: "canary",
	})
	k.must(err)
	url, password, reach := "https://two.example", "canary-2", protocol.ReachDirect
	_, err = k.hosts.Update(k.ctx, k.user, made.ID, broker.HostPatch{URL: &url, Password: &password, Reach: &reach})
	k.must(err)
	_, err = k.hosts.Update(k.ctx, k.user, made.ID, broker.HostPatch{URL: &url}) // changes nothing
	k.must(err)
	bad := "ftp://three.example"
	_, err = k.hosts.Update(k.ctx, k.user, made.ID, broker.HostPatch{URL: &bad})
	if protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("%v", err)
	}
	if err := k.hosts.Delete(k.ctx, k.user, "none", false); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("%v", err)
	}
	k.must(k.hosts.Delete(k.ctx, k.user, made.ID, false))
	k.wantAudit(
		`host.created by operator on host `+made.ID+` build null`,
		`host.changed by operator on host `+made.ID+` build {"changed":"url password"}`,
		`host.removed by operator on host `+made.ID+` build {"unendedSessions":"0"}`,
	)
}

// refusingAudit stores no entry.
type refusingAudit struct {
	broker.AuditStore
	err error
}

func (r refusingAudit) AddAudit(context.Context, ...protocol.AuditEntry) error { return r.err }

func TestAnActAndItsEntryAreOneTransaction(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		refuse := errors.New("no")
		err := broker.Audited(k.ctx, k.store, k.clock.Now, func(ctx context.Context) (*broker.Act, error) {
			k.must(k.store.CreateUser(ctx, &broker.User{ID: "eve", Email: "eve@example.org", CreatedAt: start}))
			return &broker.Act{Action: protocol.AuditUserCreated}, refuse
		})
		if !errors.Is(err, refuse) {
			t.Errorf("%v", err)
		}
		refusing := refusingAudit{k.store, refuse}
		err = broker.Audited(k.ctx, refusing, k.clock.Now, func(ctx context.Context) (*broker.Act, error) {
			k.must(k.store.CreateUser(ctx, &broker.User{ID: "eve", Email: "eve@example.org", CreatedAt: start}))
			return &broker.Act{Action: protocol.AuditUserCreated}, nil
		})
		if !errors.Is(err, refuse) {
			t.Errorf("the entry was refused: %v", err)
		}
		err = k.store.Write(k.ctx, func(ctx context.Context) error {
			k.must(k.store.AddAudit(ctx, protocol.AuditEntry{At: start, Action: protocol.AuditSignIn}))
			return refuse
		})
		if !errors.Is(err, refuse) {
			t.Errorf("%v", err)
		}
		if _, err := k.store.User(k.ctx, "eve"); protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("the user is stored: %v", err)
		}
		k.wantAudit()
	})
}

func TestTheAuditLogIsReadInPages(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	log := &broker.AuditLog{Store: k.store, Now: k.clock.Now}
	for i := range 7 {
		k.must(k.store.AddAudit(k.ctx, protocol.AuditEntry{
			At: start.Add(time.Duration(i) * time.Hour), Action: protocol.AuditSignIn,
		}))
	}
	var pages []string
	for q := (broker.AuditQuery{Limit: 3}); ; {
		page, err := log.List(k.ctx, k.user, q)
		k.must(err)
		var hours []string
		for _, e := range page.Entries {
			hours = append(hours, fmt.Sprint(int(e.At.Sub(start).Hours())))
		}
		pages = append(pages, strings.Join(hours, " "))
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
		k.must(k.store.AddAudit(k.ctx, protocol.AuditEntry{At: start, Action: protocol.AuditSignIn})) // moves no page
	}
	if got := strings.Join(pages, ", "); got != "6 5 4, 3 2 1, 0" {
		t.Errorf("pages %s", got)
	}
}

func TestTheAuditLogRefusesBadQueries(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	log := &broker.AuditLog{Store: k.store, Now: k.clock.Now}
	other := k.newUser("eve@example.org", false)
	_, err := log.List(k.ctx, other, broker.AuditQuery{})
	same(t, fault(err), `{'code':'forbidden','error':'Only administrators read the audit log'}`)
	yield := func(*protocol.AuditEntry) error { t.Error("an entry"); return nil }
	if err := log.Export(k.ctx, other, broker.AuditQuery{}, yield); protocol.CodeOf(err) != protocol.CodeForbidden {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		query   broker.AuditQuery
		message string
	}{
		{broker.AuditQuery{From: "yesterday"}, "from is not a time"},
		{broker.AuditQuery{Until: "2026-13-01"}, "until is not a time"},
		{broker.AuditQuery{Action: "host.exploded"}, "action names no act of the audit log"},
		{broker.AuditQuery{Action: "hos"}, "action names no act of the audit log"},
		{broker.AuditQuery{Actor: "a\x00b"}, "actor must be text of at most 254 bytes"},
		{broker.AuditQuery{Subject: strings.Repeat("x", 255)}, "subject must be text of at most 254 bytes"},
		{broker.AuditQuery{Cursor: "x"}, "cursor is not one of ours"},
		{broker.AuditQuery{Cursor: "-1"}, "cursor is not one of ours"},
	} {
		_, err := log.List(k.ctx, k.user, c.query)
		if protocol.CodeOf(err) != protocol.CodeInvalid || err.Error() != c.message {
			t.Errorf("%+v: %v", c.query, err)
		}
	}
	k.wantAudit()
}

// An export has every entry up to its own, whatever the size of a page.
func TestAnExportHasEveryEntryOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	log := &broker.AuditLog{Store: k.store, Now: k.clock.Now}
	const n = 1203
	k.must(k.store.Write(k.ctx, func(ctx context.Context) error {
		for range n {
			k.must(k.store.AddAudit(ctx, protocol.AuditEntry{At: start, Action: protocol.AuditSignIn}))
		}
		return nil
	}))
	var last, count int64
	var final protocol.AuditAction
	k.must(log.Export(k.ctx, k.user, broker.AuditQuery{}, func(e *protocol.AuditEntry) error {
		if e.No <= last {
			t.Fatalf("%d after %d", e.No, last)
		}
		last, final = e.No, e.Action
		count++
		return k.store.AddAudit(k.ctx, protocol.AuditEntry{At: start, Action: protocol.AuditSignOut}) // while it runs
	}))
	if count != n+1 || final != protocol.AuditExported {
		t.Errorf("%d entries, the last is %s", count, final)
	}
	count = 0
	k.must(log.Export(k.ctx, k.user, broker.AuditQuery{Action: "audit"}, func(e *protocol.AuditEntry) error {
		count++
		if count == 2 && e.Detail["action"] != "audit" {
			t.Errorf("%+v", e)
		}
		return nil
	}))
	if count != 2 {
		t.Errorf("%d exports", count)
	}
}

func TestRetentionRemovesOldEntriesOnly(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	add := func(age time.Duration) {
		k.must(k.store.AddAudit(k.ctx, protocol.AuditEntry{At: k.clock.Now().Add(-age), Action: protocol.AuditSignIn}))
	}
	add(48*time.Hour + time.Second)
	add(48 * time.Hour)
	k.upkeep.Prune(k.ctx)
	if got := len(k.audit()); got != 2 {
		t.Errorf("%d entries without a retention", got)
	}
	k.upkeep.Retention.Audit = 48 * time.Hour
	k.upkeep.Prune(k.ctx)
	if got := len(k.audit()); got != 1 {
		t.Errorf("%d entries", got)
	}
}
