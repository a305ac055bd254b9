package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func testAudit(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	known, err := s.store.User(s.ctx, ada)
	s.must(err)
	at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	first := protocol.AuditEntry{
		At: at(0), Action: protocol.AuditHostCreated,
		Actor: protocol.AuditActor{
			Kind: protocol.AuditByUser, ID: ada, TokenID: "token", Address: "192.0.2.1", Via: "local",
		},
		Subject: protocol.AuditSubject{Kind: protocol.AuditOfHost, ID: "host", Name: "it's ?"},
		Detail:  map[string]string{"a": "<&>é"},
	}
	s.must(s.store.AddAudit(s.ctx, first,
		protocol.AuditEntry{
			At: at(1), Action: protocol.AuditSignInFailed, Actor: protocol.AuditActor{Kind: protocol.AuditByVisitor},
			Subject: protocol.AuditSubject{Kind: protocol.AuditOfUser, ID: ada},
		},
		protocol.AuditEntry{
			At: at(2), Action: protocol.AuditSignIn, Actor: protocol.AuditActor{Kind: protocol.AuditByUser, ID: bob},
			Subject: protocol.AuditSubject{Kind: protocol.AuditOfUser, ID: bob},
		},
		protocol.AuditEntry{
			At: at(3), Action: protocol.AuditSignInLink, Actor: protocol.AuditActor{Kind: protocol.AuditByOperator},
			Subject: protocol.AuditSubject{Kind: protocol.AuditOfUser, ID: "gone"},
		},
	))
	s.must(s.store.AddAudit(s.ctx)) // no act

	all, err := s.store.AuditEntries(s.ctx, broker.AuditFilter{Limit: 10})
	s.must(err)
	first.No, first.Actor.Email = all[0].No, known.Email
	if !reflect.DeepEqual(all[0], first) {
		t.Errorf("got  %+v\nwant %+v", all[0], first)
	}
	if all[1].Subject.Name != known.Email || all[3].Subject.Name != "" {
		t.Errorf("%+v", all)
	}
	s.auditFilters(all, known.Email)

	n, err := s.store.PruneAudit(s.ctx, at(1))
	s.must(err)
	if n != 1 {
		t.Errorf("%d pruned", n)
	}
	s.must(s.store.AddAudit(s.ctx, protocol.AuditEntry{At: at(4), Action: protocol.AuditSignOut}))
	left, err := s.store.AuditEntries(s.ctx, broker.AuditFilter{Limit: 10})
	if s.must(err); len(left) != 4 || left[3].No <= all[3].No {
		t.Errorf("%+v", left)
	}
}

// auditFilters reads the entries of testAudit, one an hour, with every filter. email is the
// address of the first entry's actor.
func (s suite) auditFilters(all []protocol.AuditEntry, email string) {
	s.Helper()
	from, until, ada, bob := all[1].At, all[3].At, all[0].Actor.ID, all[2].Actor.ID
	for _, c := range []struct {
		name   string
		filter broker.AuditFilter
		want   string
	}{
		{"newest first", broker.AuditFilter{Before: protocol.MaxPosition}, "3 2 1 0"},
		{"before", broker.AuditFilter{Before: all[2].No}, "1 0"},
		{"after", broker.AuditFilter{After: all[1].No}, "2 3"},
		{"limit", broker.AuditFilter{Limit: 2}, "0 1"},
		{"times", broker.AuditFilter{From: &from, Until: &until}, "1 2"},
		{"actor's id", broker.AuditFilter{Actor: ada}, "0"},
		{"actor's address", broker.AuditFilter{Actor: strings.ToUpper(email)}, "0"},
		{"kind of actor", broker.AuditFilter{Actor: "visitor"}, "1"},
		{"an act", broker.AuditFilter{Action: "sign-in.failed"}, "1"},
		{"a group of acts", broker.AuditFilter{Action: "sign-in"}, "1 2 3"},
		{"no prefix", broker.AuditFilter{Action: "sign"}, ""},
		{"subject's id", broker.AuditFilter{Subject: "gone"}, "3"},
		{"subject's name", broker.AuditFilter{Subject: "it's ?"}, "0"},
		{"subject's address", broker.AuditFilter{Subject: email}, "1"},
		{"all at once", broker.AuditFilter{From: &from, Action: "sign-in", Actor: bob, Subject: bob}, "2"},
	} {
		if c.filter.Limit == 0 {
			c.filter.Limit = 10
		}
		found, err := s.store.AuditEntries(s.ctx, c.filter)
		s.must(err)
		var hours []string
		for i := range found {
			hours = append(hours, fmt.Sprint(int(found[i].At.Sub(now).Hours())))
		}
		if got := strings.Join(hours, " "); got != c.want {
			s.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
