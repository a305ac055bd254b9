package broker_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// revokes makes a round after a time, as a broker does that was started again, and compares the
// sessions whose streams the host was asked to end.
func (k *kit) revokes(after time.Duration, want ...string) {
	k.t.Helper()
	k.clock.Advance(after)
	again := &broker.Revocations{
		Store: k.store, Targets: k.targets, Link: k.host, BrokerID: "broker-1",
		Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	again.Round(k.ctx)
	got := k.host.revoked
	k.host.revoked = nil
	slices.Sort(got)
	slices.Sort(want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.t.Errorf("asked to revoke %v, want %v", got, want)
	}
}

// disabled disables the kit's user as broker/auth does.
func (k *kit) disabled() {
	k.t.Helper()
	k.must(k.store.RevokeUser(k.ctx, k.user.UserID, k.clock.Now()))
}

// The end of a session ends its streams. A deleted task whose session has ended has no host any more.
func TestAnEndedSessionNeedsNoRevocation(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.newUser("root@example.org", true)
	task := k.session(k.register("build"))
	k.host.down(errDown)
	k.host.onRevoke = func(string) error { return errDown }
	k.disabled()
	k.revokes(0, task)
	k.must(k.delete(k.user.UserID, task))
	k.host.down(nil)
	k.host.onRevoke = nil
	k.round(time.Minute, task)
	k.revokes(time.Minute)
	left, err := k.store.DueRevocations(k.ctx, k.clock.Now().Add(broker.RevocationLife), 10)
	if err != nil || len(left) != 0 {
		t.Errorf("the broker goes on to try %+v, %v", left, err)
	}
}

func TestTheStreamsOfADisabledUserEnd(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		root := k.user
		host := k.register("build")
		k.session(host) // another user's
		k.user = k.newUser("eve@example.org", true)
		first, second, own := k.session(host), k.session(host), k.session("")
		deleted := k.session(host)
		k.must(k.delete(k.user.UserID, deleted))
		k.task() // never opened
		k.revokes(0)

		k.disabled()
		k.revokes(0, first, second, own)
		k.revokes(time.Hour)

		// A host that is away is asked again, a broker started again included.
		k.host.onRevoke = func(string) error { return errDown }
		k.disabled()
		k.revokes(0, min(first, second), own)
		k.revokes(time.Second)
		k.host.onRevoke = nil
		k.revokes(time.Minute, first, second, own)
		k.revokes(time.Hour)

		// No session, or a host that cannot revoke: nothing to end.
		k.host.onRevoke = func(id string) error {
			if id == own {
				return protocol.Errorf(protocol.CodeMethodNotAllowed, "a basic host")
			}
			return protocol.Errorf(protocol.CodeNotFound, "no session")
		}
		k.disabled()
		k.revokes(0, first, second, own)
		k.revokes(time.Hour)

		// A host that stays away is given up after a day.
		k.host.onRevoke = func(string) error { return errDown }
		k.disabled()
		k.clock.Advance(broker.RevocationLife)
		k.revokes(0, first, second, own)
		k.revokes(time.Hour)
		k.user = root
	})
}

// A task may stand for the ends of several credentials, and of its own session. Each is claimed and settled alone.
func TestTheEndOfOneCredentialLeavesTheOthers(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		k.host.named = true
		task := k.session(k.register("build"))
		for _, id := range []string{"phone", "laptop"} {
			k.must(k.store.CreateToken(k.ctx, &broker.APIToken{
				ID: id, UserID: k.user.UserID, Name: id, Kind: broker.TokenUser, Hash: []byte(id), CreatedAt: k.clock.Now(),
			}))
			k.must(k.store.DeleteToken(k.ctx, k.user.UserID, id, k.clock.Now()))
		}
		k.newUser("root@example.org", true)
		k.disabled()
		due := func() []broker.Revocation {
			list, err := k.store.DueRevocations(k.ctx, k.clock.Now(), 10)
			k.must(err)
			return list
		}
		credentials := func(list []broker.Revocation) (ids []string) {
			for i := range list {
				ids = append(ids, list[i].Credential)
			}
			return ids
		}
		owed := due()
		if got := credentials(owed); !slices.Equal(got, []string{"", "laptop", "phone"}) || owed[2].TaskID != task {
			t.Fatalf("owed: %q of task %s, want %s", got, owed[0].TaskID, task)
		}
		for i := range owed {
			claimed, err := k.store.ClaimRevocation(k.ctx, &owed[i], k.clock.Now().Add(time.Minute))
			k.must(err)
			if left := credentials(due()); !claimed || !slices.Equal(left, credentials(owed[i+1:])) {
				t.Errorf("owed after the claim %t of %q: %q", claimed, owed[i].Credential, left)
			}
		}
		k.clock.Advance(time.Hour)
		for i := range owed {
			k.must(k.store.SettleRevocation(k.ctx, &owed[i]))
			if left := credentials(due()); !slices.Equal(left, credentials(owed[i+1:])) {
				t.Errorf("owed after %q was settled: %q", owed[i].Credential, left)
			}
		}
	})
}
