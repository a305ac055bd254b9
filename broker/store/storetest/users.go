package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func (s suite) account(email string, admin bool) *broker.User {
	s.Helper()
	u := &broker.User{ID: protocol.NewID(), Email: email, PasswordHash: "-", Admin: admin, CreatedAt: now}
	s.must(s.store.CreateUser(s.ctx, u))
	return u
}

func disable(u *broker.User) error {
	at := now
	u.DisabledAt = &at
	return nil
}

func erase(u *broker.User) error {
	at := now
	u.DeletedAt, u.Email = &at, u.ID
	return nil
}

func testLastAdministrator(t *testing.T, s suite) {
	admins := []*broker.User{s.account("a@example.org", true), s.account("b@example.org", true)}
	user := s.account("c@example.org", false)
	var active []*broker.User
	for range 20 { // either can be the first
		for _, u := range admins {
			_, err := s.store.UpdateUser(s.ctx, u.ID, func(u *broker.User) error { u.DisabledAt = nil; return nil })
			s.must(err)
		}
		s.disableAtOnce(admins)
		active = nil
		for _, u := range admins {
			got, err := s.store.User(s.ctx, u.ID)
			s.must(err)
			if got.Active() {
				active = append(active, got)
			}
		}
		if len(active) != 1 {
			t.Fatalf("%d administrators", len(active))
		}
	}
	_, err := s.store.UpdateUser(s.ctx, active[0].ID, erase)
	s.code(err, protocol.CodeConflict)
	_, err = s.store.UpdateUser(s.ctx, user.ID, erase)
	s.must(err)
	_, err = s.store.UpdateUser(s.ctx, "unknown", disable)
	s.code(err, protocol.CodeNotFound)

	page, err := s.store.Users(s.ctx, "", 10)
	s.must(err)
	if len(page) != 2 || page[0].Email != "a@example.org" || page[1].Email != "b@example.org" {
		t.Errorf("%+v", page)
	}
	page, err = s.store.Users(s.ctx, "a@example.org", 10)
	s.must(err)
	if len(page) != 1 || page[0].Email != "b@example.org" {
		t.Errorf("%+v", page)
	}
	s.account("c@example.org", false) // the address of the deleted user is free
}

// disableAtOnce disables two users in parallel; one must be refused.
func (s suite) disableAtOnce(both []*broker.User) {
	s.Helper()
	var refused atomic.Int64
	var group sync.WaitGroup
	begin := make(chan struct{})
	for _, u := range both {
		group.Go(func() {
			<-begin
			_, err := s.store.UpdateUser(s.ctx, u.ID, disable)
			if protocol.CodeOf(err) == protocol.CodeConflict {
				refused.Add(1)
			} else if err != nil {
				s.Error(err)
			}
		})
	}
	close(begin)
	group.Wait()
	if refused.Load() != 1 {
		s.Errorf("%d of 2 were refused", refused.Load())
	}
}

func testSignIns(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	sign := func(token, userID string, began, expires time.Duration) *broker.SignIn {
		in := &broker.SignIn{
			ID: "id-" + token, UserID: userID, UserAgent: "it's a <browser>", Address: "2001:db8::1",
			BeganAt: now.Add(began), LastUsedAt: now.Add(began), ExpiresAt: now.Add(expires),
		}
		s.must(s.store.CommitLogin(s.ctx, token, []byte{1}, in.ExpiresAt))
		s.must(s.store.TouchLogin(s.ctx, token, in))
		return in
	}
	first := sign("one", ada, 0, time.Hour)
	sign("two", ada, time.Minute, time.Hour)
	sign("bob's", bob, 0, time.Hour)
	sign("expired", ada, 0, 0)
	s.must(s.store.CommitLogin(s.ctx, "not described yet", []byte{1}, now.Add(time.Hour)))
	list := func(want ...string) []broker.SignIn {
		t.Helper()
		found, err := s.store.SignIns(s.ctx, ada, now)
		s.must(err)
		var ids []string
		for _, in := range found {
			ids = append(ids, in.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("got %v, want %v", ids, want)
		}
		return found
	}
	if found := list("id-two", "id-one"); found[1] != *first {
		t.Errorf("got  %+v\nwant %+v", found[1], *first)
	}
	_, used, _, err := s.store.FindLogin(s.ctx, "two")
	s.must(err)
	if used == nil || !used.Equal(now.Add(time.Minute)) {
		t.Errorf("used %v", used)
	}
	if _, used, found, err := s.store.FindLogin(s.ctx, "not described yet"); used != nil || !found || err != nil {
		t.Errorf("%v %t %v", used, found, err)
	}
	s.code(s.store.EndSignIn(s.ctx, bob, "id-one", now), protocol.CodeNotFound)
	s.must(s.store.EndSignIn(s.ctx, ada, "id-one", now))
	s.code(s.store.EndSignIn(s.ctx, ada, "id-one", now), protocol.CodeNotFound)
	list("id-two")
	s.must(s.store.UpdatePassword(s.ctx, ada, "x", now.Add(time.Minute))) // this one began with the change
	list("id-two")
	s.must(s.store.UpdatePassword(s.ctx, ada, "x", now.Add(time.Hour)))
	list()
	sign("three", ada, 0, time.Hour)
	s.must(s.store.RevokeUser(s.ctx, ada, now))
	list()
	if _, _, found, err := s.store.FindLogin(s.ctx, "bob's"); !found || err != nil {
		t.Errorf("another user's: %t %v", found, err)
	}
}

func testErasure(t *testing.T, s suite) {
	gone, kept := s.user(), s.user()
	for i, id := range []string{gone, kept} {
		s.must(s.store.CreateLink(s.ctx, fmt.Append(nil, "link", i), id, now))
		s.must(s.store.CreateToken(s.ctx, &broker.APIToken{
			ID: protocol.NewID(), UserID: id, Name: "ci", Kind: broker.TokenUser,
			Hash: fmt.Append(nil, "token", i), CreatedAt: now,
		}))
	}
	s.must(s.store.EraseUser(s.ctx, kept)) // not deleted: nothing of the account
	if _, err := s.store.User(s.ctx, kept); err != nil {
		t.Error(err)
	}
	task := s.task(gone)
	_, err := s.store.UpdateUser(s.ctx, gone, erase)
	s.must(err)
	s.must(s.store.RevokeUser(s.ctx, gone, now))
	_, err = s.store.TokenByHash(s.ctx, []byte("token0"))
	s.code(err, protocol.CodeNotFound)
	_, err = s.store.UseLink(s.ctx, []byte("link0"), now.Add(-time.Hour))
	s.code(err, protocol.CodeNotFound)
	ids, err := s.store.DeletedUsers(s.ctx)
	s.must(err)
	if !slices.Equal(ids, []string{gone}) {
		t.Errorf("%v", ids)
	}
	s.must(s.store.EraseUser(s.ctx, gone))
	if removed, err := s.store.RemoveUser(s.ctx, gone); removed || err != nil {
		t.Errorf("removed before its task %s: %v", task.ID, err)
	}
	other := s.user()
	s.factor(other)
	_, err = s.store.UpdateUser(s.ctx, other, erase)
	s.must(err)
	for i := range 2 { // a repetition is no error
		s.must(s.store.EraseUser(s.ctx, other))
		if removed, err := s.store.RemoveUser(s.ctx, other); removed != (i == 0) || err != nil {
			t.Errorf("round %d: removed %t, %v", i, removed, err)
		}
	}
	if removed, err := s.store.RemoveUser(s.ctx, kept); removed || err != nil {
		t.Errorf("a user who is not deleted: removed %t, %v", removed, err)
	}
	_, err = s.store.User(s.ctx, other)
	s.code(err, protocol.CodeNotFound)
	_, err = s.store.SecondFactor(s.ctx, other)
	s.code(err, protocol.CodeNotFound)
	if _, err := s.store.TokenByHash(s.ctx, []byte("token1")); err != nil {
		t.Error(err)
	}
}
