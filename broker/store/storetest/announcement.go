package storetest

import (
	"reflect"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func testAnnouncements(t *testing.T, s suite) {
	add := func(id string, created, life time.Duration) broker.Announcement {
		a := broker.Announcement{Announcement: protocol.Announcement{
			ID: id, Text: "text é\n" + id, Level: protocol.AnnouncementWarning, CreatedAt: now.Add(created),
			ExpiresAt: now.Add(created + life),
		}}
		s.must(s.store.CreateAnnouncement(s.ctx, &a))
		return a
	}
	second, first, third := add("b", time.Minute, time.Hour), add("c", 0, time.Hour), add("a", time.Minute*2, time.Hour)
	add("old", -time.Hour, time.Hour)
	s.code(s.store.CreateAnnouncement(s.ctx, &first), protocol.CodeConflict)
	active := func(want ...broker.Announcement) {
		t.Helper()
		got, err := s.store.ActiveAnnouncements(s.ctx, now)
		s.must(err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("active: %+v\nwant %+v", got, want)
		}
	}
	active(first, second, third)
	at := now.Add(time.Second)
	s.must(s.store.CancelAnnouncement(s.ctx, "b", at))
	s.must(s.store.CancelAnnouncement(s.ctx, "b", at.Add(time.Second)))
	s.code(s.store.CancelAnnouncement(s.ctx, "none", at), protocol.CodeNotFound)
	active(first, third)
	got, err := s.store.Announcement(s.ctx, "b")
	s.must(err)
	if got.CancelledAt == nil || !got.CancelledAt.Equal(at) {
		t.Errorf("%+v", got)
	}
	if n, err := s.store.PruneAnnouncements(s.ctx, now.Add(time.Second)); n != 1 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
	_, err = s.store.Announcement(s.ctx, "old")
	s.code(err, protocol.CodeNotFound)
	active(first, third)
}
