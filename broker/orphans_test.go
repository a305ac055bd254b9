package broker_test

import (
	"slices"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

func TestOrphansAreAdopted(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	known := k.onHost()
	k.host.sessions = []protocol.BoundSession{
		{
			SessionID: "0-orphan", Title: "Lost", Owner: k.user.UserID, Agent: "demo",
			Cursor: protocol.Cursor{Epoch: 1, Seq: 7}, CreatedAt: start,
		},
		{SessionID: "1-orphan", Owner: "unknown", Agent: "demo", CreatedAt: start},
		{SessionID: "2-orphan", Owner: k.user.UserID, CreatedAt: start},
		{SessionID: known.ID, Owner: k.user.UserID},
	}
	slices.SortFunc(k.host.sessions, func(a, b protocol.BoundSession) int {
		return strings.Compare(a.SessionID, b.SessionID)
	})
	list, err := k.adoption.List(k.ctx, k.user)
	k.must(err)
	var found []string
	for _, o := range list.Orphans {
		found = append(found, o.Session.SessionID+" "+o.HostName+" "+o.Email)
	}
	if want := []string{
		"0-orphan first ada@example.org", "1-orphan first ", "2-orphan first ada@example.org",
	}; !slices.Equal(found, want) {
		t.Errorf("orphans are %q", found)
	}

	adopted, err := k.adoption.Adopt(k.ctx, k.user, "0-orphan", &protocol.AdoptRequest{HostID: k.hostID})
	k.must(err)
	if adopted.Title != "Lost" || adopted.ID != "0-orphan" || adopted.HostID != k.hostID {
		t.Errorf("adopted as %+v", adopted)
	}
	open := k.kit.host.lastOpen()
	if open.SessionID != "0-orphan" || *open.Cursor != (protocol.Cursor{}) || !open.Attach {
		t.Errorf("the host was asked for %+v", open)
	}
	_, err = k.adoption.Adopt(k.ctx, k.user, "0-orphan", &protocol.AdoptRequest{HostID: k.hostID})
	k.must(err) // again, as after a failure
	k.wantAudit(`host.created by broker on host `+k.hostID+` first null`,
		`task.adopted by broker on task 0-orphan {"host":"`+k.hostID+`","owner":"ada"}`)

	other := k.newUser("bob@example.org", false)
	for _, c := range []struct {
		name, session string
		caller        broker.Caller
		req           protocol.AdoptRequest
		want          protocol.Code
	}{
		{"only administrators", "2-orphan", other, protocol.AdoptRequest{HostID: k.hostID}, protocol.CodeForbidden},
		{"another host", "2-orphan", k.user, protocol.AdoptRequest{HostID: "none"}, protocol.CodeInvalid},
		{"no such session", "9-orphan", k.user, protocol.AdoptRequest{HostID: k.hostID}, protocol.CodeNotFound},
		{"an owner who is not known", "1-orphan", k.user, protocol.AdoptRequest{HostID: k.hostID}, protocol.CodeInvalid},
		{
			"no such user", "1-orphan", k.user,
			protocol.AdoptRequest{HostID: k.hostID, Email: "eve@example.org"},
			protocol.CodeInvalid,
		},
		{
			"the task of another user", "0-orphan", k.user,
			protocol.AdoptRequest{HostID: k.hostID, Email: "Bob@example.org"},
			protocol.CodeConflict,
		},
		{"another user", "1-orphan", k.user, protocol.AdoptRequest{HostID: k.hostID, Email: "Bob@example.org"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := k.adoption.Adopt(k.ctx, c.caller, c.session, &c.req); protocol.CodeOf(err) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
	_, err = k.adoption.List(k.ctx, other)
	if protocol.CodeOf(err) != protocol.CodeForbidden {
		t.Errorf("%v", err)
	}
	k.host.err = protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server")
	list, err = k.adoption.List(k.ctx, k.user)
	k.must(err)
	same(t, list, `{'orphans':[],'unreachable':['first']}`)
}
