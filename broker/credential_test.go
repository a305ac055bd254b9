package broker_test

import (
	"fmt"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// signsIn stores a sign-in of the kit's user whose requests k.ctx stands for from now on.
func (k *kit) signsIn(id string) {
	k.t.Helper()
	now := k.clock.Now()
	k.must(k.store.CommitLogin(k.ctx, "token of "+id, []byte{1}, now.Add(time.Hour)))
	k.must(k.store.TouchLogin(k.ctx, "token of "+id, &broker.SignIn{
		ID: id, UserID: k.user.UserID, BeganAt: now, LastUsedAt: now,
	}))
	k.ctx = broker.WithCredential(k.ctx, k.user.UserID, id)
}

// named returns the credentials of the requests to open a session since the last call.
func (k *kit) named() string {
	all := []string{}
	for _, req := range k.host.opened {
		all = append(all, req.Credential)
	}
	k.host.opened = nil
	return fmt.Sprintf("%q", all)
}

func (k *kit) expectNamed(what, want string) {
	k.t.Helper()
	if got := k.named(); got != want {
		k.t.Errorf("%s: credentials %s, want %s", what, got, want)
	}
}

// The first token of a task must end with its credential, too: nothing is known of the host then.
func TestEveryHostGetsTheCredentialOfARequest(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signsIn("laptop")
	task := k.session("")
	k.expectNamed("the first check-in", `["laptop"]`)
	k.host.named = true
	k.checkIn(task, "more")
	k.expectNamed("a host that announces credentials", `["laptop"]`)
	_, err := k.sessions.Attach(k.ctx, k.user.UserID, &protocol.AttachRequest{TaskID: task})
	k.must(err)
	k.expectNamed("an attach", `["laptop"]`)
	k.ctx = t.Context()
	k.checkIn(task, "of the queue")
	k.expectNamed("without a sign-in", `[""]`)
}

func TestASignInThatEndsDuringACheckInGetsNoToken(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.host.named = true
	k.signsIn("laptop")
	task := k.session("")
	ends := func() {
		k.host.onOpen = nil
		k.must(k.store.EndSignIn(k.ctx, k.user.UserID, "laptop", k.clock.Now()))
	}
	open := k.host.Open
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		ends()
		k.host.mu.Unlock()
		defer k.host.mu.Lock()
		return open(k.ctx, broker.Target{}, req)
	}
	_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task, Message: "go"})
	if protocol.CodeOf(err) != protocol.CodeUnauthorized {
		t.Errorf("check-in: %v", err)
	}
	_, err = k.sessions.Attach(k.ctx, k.user.UserID, &protocol.AttachRequest{TaskID: task})
	if protocol.CodeOf(err) != protocol.CodeUnauthorized {
		t.Errorf("attach: %v", err)
	}
}

func TestTheStreamsOfAnEndedCredentialEnd(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		build, lab := k.register("build"), k.register("lab")
		k.signsIn("laptop")
		k.session(lab) // before its host knows credentials
		k.host.named = true
		k.session(build)
		k.session(build)
		k.session("")
		at := func(credential string, hosts ...string) (all []string) {
			for _, host := range hosts {
				all = append(all, fmt.Sprintf("%s at https://%s.example for broker-1", credential, host))
			}
			return all
		}
		k.revokes(0)

		// However a sign-in or a token ends.
		must, now := k.must, k.clock.Now()
		must(k.store.EndSignIn(k.ctx, k.user.UserID, "laptop", now))
		k.revokes(0, at("laptop", "build", "own")...)
		k.revokes(time.Hour)
		k.signsIn("phone")
		must(k.store.DeleteLogin(k.ctx, "token of phone", k.clock.Now()))
		k.revokes(0, at("phone", "build", "own")...)
		k.signsIn("tablet")
		must(k.store.UpdatePassword(k.ctx, k.user.UserID, "x", k.clock.Now().Add(time.Second)))
		k.revokes(time.Second, at("tablet", "build", "own")...)
		k.signsIn("desk")
		_, err := k.store.PruneLogins(k.ctx, k.clock.Now().Add(time.Hour))
		must(err)
		k.revokes(time.Hour, at("desk", "build", "own")...)
		token := &broker.APIToken{
			ID: "ci", UserID: k.user.UserID, Name: "ci", Kind: broker.TokenUser, Hash: []byte("x"), CreatedAt: k.clock.Now(),
		}
		must(k.store.CreateToken(k.ctx, token))
		must(k.store.DeleteToken(k.ctx, k.user.UserID, "ci", k.clock.Now()))
		k.revokes(0, at("ci", "build", "own")...)

		// A host that is away is asked again, also if the user deletes their tasks meanwhile.
		k.signsIn("laptop")
		k.host.onRevoke = func(string) error { return errDown }
		must(k.store.EndSignIn(k.ctx, k.user.UserID, "laptop", k.clock.Now()))
		k.revokes(0, at("laptop", "build", "own")...)
		must(k.tasks.DeleteAll(k.ctx, k.user.UserID))
		k.ends.Round(k.ctx)
		k.clock.Advance(time.Minute)
		k.ends.Round(k.ctx)
		k.host.onRevoke = nil
		k.revokes(0, at("laptop", "build", "own")...)
		k.revokes(time.Hour)
	})
}
