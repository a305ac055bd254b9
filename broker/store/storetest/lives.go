package storetest

import (
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func testHostLives(t *testing.T, s suite) {
	url := "https://" + protocol.NewID() + ".example"
	accepted := func(at, host, want string) {
		t.Helper()
		if life, err := s.store.HostLife(s.ctx, at, host); life != want || err != nil {
			t.Errorf("%s at %s: %q, %v; want %q", host, at, life, err, want)
		}
	}
	accepted(url, "h", "")
	first, next := protocol.NewLife("h", ""), protocol.NewLife("h", "")
	s.must(s.store.AcceptHostLife(s.ctx, url, first, now))
	s.must(s.store.NoteHostCopy(s.ctx, url, broker.HostCopy{Host: "h", Place: "m2:/copy", At: now}))
	s.must(s.store.AcceptHostLife(s.ctx, url, next, now.Add(time.Hour)))
	s.must(s.store.AcceptHostLife(s.ctx, url, protocol.NewLife("other", ""), now))
	accepted(url, "h", next.ID)
	accepted(url+":1", "h", "")
	copies, err := s.store.HostCopies(s.ctx, now)
	want := broker.HostCopy{URL: url, Host: "h", Place: "m2:/copy", At: now}
	if err != nil || len(copies) != 1 || !copies[0].At.Equal(now) || copies[0].Place != want.Place || copies[0].URL != url {
		t.Errorf("%+v, %v", copies, err)
	}
	if copies, err = s.store.HostCopies(s.ctx, now.Add(time.Second)); err != nil || len(copies) != 0 {
		t.Errorf("later: %+v, %v", copies, err)
	}
	// What was not accepted for months is forgotten, unless an administrator registered its host.
	registered := &broker.Host{ID: protocol.NewID(), Name: "kept", URL: url + ":2", Health: broker.HostUnknown, CreatedAt: now}
	s.must(s.store.CreateHost(s.ctx, registered))
	kept := protocol.NewLife("h", "")
	s.must(s.store.AcceptHostLife(s.ctx, registered.URL, kept, now))
	s.must(s.store.AcceptHostLife(s.ctx, url+":3", protocol.NewLife("h", ""), now.AddDate(1, 0, 0)))
	accepted(url, "h", "")
	accepted(registered.URL, "h", kept.ID)
}
