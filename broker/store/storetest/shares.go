package storetest

import (
	"reflect"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func testShares(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	task, other, bobs := s.task(ada), s.task(ada), s.task(bob)
	add := func(hash string, of *broker.Task, created, life time.Duration) broker.Share {
		share := broker.Share{
			ID: "id-" + hash, UserID: of.UserID, TaskID: of.ID, Hash: []byte(hash), Title: "As it was", LastSeq: 7, Rev: 9,
			CreatedAt: now.Add(created), ExpiresAt: now.Add(created + life),
		}
		s.must(s.store.CreateShare(s.ctx, &share))
		share.TaskTitle = of.Title
		return share
	}
	first, second := add("one", task, 0, time.Hour), add("two", other, time.Minute, time.Hour)
	add("bob's", bobs, 0, time.Hour)
	old := add("old", task, -time.Hour, time.Hour)
	list := func(taskID string, want ...broker.Share) {
		t.Helper()
		found, err := s.store.Shares(s.ctx, ada, taskID, now)
		s.must(err)
		if !reflect.DeepEqual(found, want) {
			t.Errorf("got  %+v\nwant %+v", found, want)
		}
	}
	list("", second, first)
	list(task.ID, first)
	used := now.Add(time.Second)
	s.must(s.store.TouchShare(s.ctx, first.ID, used))
	first.LastUsedAt = &used
	list(task.ID, first)
	for _, share := range []broker.Share{first, old} { // the caller knows the time
		found, err := s.store.ShareByHash(s.ctx, share.Hash)
		s.must(err)
		if !reflect.DeepEqual(*found, share) {
			t.Errorf("got  %+v\nwant %+v", *found, share)
		}
	}
	gone := func(hash string) {
		t.Helper()
		_, err := s.store.ShareByHash(s.ctx, []byte(hash))
		s.code(err, protocol.CodeNotFound)
	}
	gone("none")
	s.code(s.store.DeleteShare(s.ctx, bob, second.ID), protocol.CodeNotFound)
	s.must(s.store.DeleteShare(s.ctx, ada, second.ID))
	s.code(s.store.DeleteShare(s.ctx, ada, second.ID), protocol.CodeNotFound)
	gone("two")
	if n, err := s.store.PruneShares(s.ctx, now); n < 1 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
	gone("old")
	list("", first)
	s.must(s.store.DeleteShares(s.ctx, other.ID))
	list("", first)
	s.must(s.store.DeleteShares(s.ctx, task.ID))
	list("")
}

func testEndsOfShares(t *testing.T, s suite) {
	share := func(of *broker.Task, hash string) {
		s.must(s.store.CreateShare(s.ctx, &broker.Share{
			ID: "id-" + hash, UserID: of.UserID, TaskID: of.ID, Hash: []byte(hash), CreatedAt: now,
			ExpiresAt: now.Add(time.Hour),
		}))
	}
	works := func(hash string, want bool) {
		t.Helper()
		_, err := s.store.ShareByHash(s.ctx, []byte(hash))
		if works := err == nil; works != want {
			t.Errorf("%s works: %t, %v", hash, works, err)
		}
	}
	set := func(userID string, disabledAt *time.Time) {
		_, err := s.store.UpdateUser(s.ctx, userID, func(u *broker.User) error {
			u.DisabledAt = disabledAt
			return nil
		})
		s.must(err)
	}
	ada := s.user()
	task := s.task(ada)
	share(task, "first")
	works("first", true)
	at := now
	set(ada, &at)
	works("first", false) // the row of the link is still there
	set(ada, nil)
	s.must(s.store.RevokeUser(s.ctx, ada, now))
	works("first", false)
	share(task, "second")
	works("second", true)
	s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.DeletedAt = &at }))
	works("second", false)
	_, err := s.store.PurgeTasks(s.ctx, at.Add(time.Second))
	s.must(err)
	bob := s.user()
	share(s.task(bob), "third")
	_, err = s.store.UpdateUser(s.ctx, bob, erase)
	s.must(err)
	works("third", false)
	s.must(s.store.EraseUser(s.ctx, bob))
	found, err := s.store.Shares(s.ctx, bob, "", now)
	s.must(err)
	if len(found) > 0 {
		t.Errorf("an erased user has %+v", found)
	}
}
