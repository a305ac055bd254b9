package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// factor stores a confirmed second factor with recovery codes "r0" to "r9".
func (s suite) factor(userID string) {
	s.Helper()
	f := &broker.SecondFactor{UserID: userID, Secret: seal.NewSecret("secret"), CreatedAt: now}
	s.must(s.store.BeginSecondFactor(s.ctx, f))
	s.must(s.store.ConfirmSecondFactor(s.ctx, f, 7, now.Add(time.Minute)))
	s.must(s.store.SetRecoveryCodes(s.ctx, userID, hashes("r")))
}

func hashes(prefix string) [][]byte {
	all := make([][]byte, 10)
	for i := range all {
		all[i] = fmt.Append(nil, prefix, i)
	}
	return all
}

func testSecondFactors(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	_, err := s.store.SecondFactor(s.ctx, ada)
	s.code(err, protocol.CodeNotFound)
	old := &broker.SecondFactor{UserID: ada, Secret: seal.NewSecret("old"), CreatedAt: now}
	s.must(s.store.BeginSecondFactor(s.ctx, old))
	begun := &broker.SecondFactor{UserID: ada, Secret: seal.NewSecret("secret"), CreatedAt: now.Add(time.Second)}
	s.must(s.store.BeginSecondFactor(s.ctx, begun))
	s.wantFactor(begun, false)
	s.code(s.store.UseStep(s.ctx, ada, 1), protocol.CodeConflict) // it does not count yet
	s.code(s.store.ConfirmSecondFactor(s.ctx, old, 7, now), protocol.CodeConflict)

	at := now.Add(time.Minute)
	s.must(s.store.ConfirmSecondFactor(s.ctx, begun, 7, at))
	begun.LastStep, begun.ConfirmedAt = 7, &at
	s.wantFactor(begun, true)
	s.code(s.store.ConfirmSecondFactor(s.ctx, begun, 8, at), protocol.CodeConflict)
	s.code(s.store.BeginSecondFactor(s.ctx, old), protocol.CodeConflict)
	s.wantFactor(begun, true)

	s.code(s.store.UseStep(s.ctx, ada, 7), protocol.CodeConflict)
	s.must(s.store.UseStep(s.ctx, ada, 9))
	s.code(s.store.UseStep(s.ctx, ada, 8), protocol.CodeConflict)
	begun.LastStep = 9
	s.must(s.store.SetRecoveryCodes(s.ctx, ada, hashes("a")))
	s.must(s.store.SetRecoveryCodes(s.ctx, ada, hashes("r")))
	begun.RecoveryCodes = 10
	s.wantFactor(begun, true)
	s.code(s.store.UseRecoveryCode(s.ctx, ada, []byte("a1")), protocol.CodeConflict) // replaced
	s.factor(bob)
	s.must(s.store.UseRecoveryCode(s.ctx, ada, []byte("r1")))
	begun.RecoveryCodes = 9
	s.wantFactor(begun, true)
	s.must(s.store.UseRecoveryCode(s.ctx, bob, []byte("r1")))

	counted, err := s.store.DeleteSecondFactor(s.ctx, ada)
	s.must(err)
	again, err := s.store.DeleteSecondFactor(s.ctx, ada)
	s.must(err)
	s.must(s.store.BeginSecondFactor(s.ctx, old))
	begunOnly, err := s.store.DeleteSecondFactor(s.ctx, ada)
	s.must(err)
	if !counted || again || begunOnly {
		t.Errorf("deleted: %t, then %t, one that was only begun: %t", counted, again, begunOnly)
	}
	s.code(s.store.UseRecoveryCode(s.ctx, ada, []byte("r2")), protocol.CodeConflict)
	if f, err := s.store.SecondFactor(s.ctx, bob); err != nil || f.RecoveryCodes != 9 {
		t.Errorf("another user's: %+v %v", f, err)
	}
}

// wantFactor checks the factor, and what the reads of its user say about it.
func (s suite) wantFactor(want *broker.SecondFactor, counts bool) {
	s.Helper()
	got, err := s.store.SecondFactor(s.ctx, want.UserID)
	s.must(err)
	confirmed := got.ConfirmedAt != nil && want.ConfirmedAt != nil && got.ConfirmedAt.Equal(*want.ConfirmedAt)
	if got.Secret.Reveal() != want.Secret.Reveal() || got.LastStep != want.LastStep ||
		!got.CreatedAt.Equal(want.CreatedAt) || got.RecoveryCodes != want.RecoveryCodes || confirmed != counts ||
		(got.ConfirmedAt != nil) != counts {
		s.Errorf("got  %+v\nwant %+v", got, want)
	}
	user, err := s.store.User(s.ctx, want.UserID)
	s.must(err)
	byEmail, err := s.store.UserByEmail(s.ctx, user.Email)
	s.must(err)
	changed, err := s.store.UpdateUser(s.ctx, user.ID, func(*broker.User) error { return nil })
	s.must(err)
	listed, err := s.store.Users(s.ctx, "", 10)
	s.must(err)
	for i := range listed {
		if listed[i].ID == user.ID && listed[i].SecondFactor != counts {
			s.Errorf("listed: %+v", listed[i])
		}
	}
	if user.SecondFactor != counts || byEmail.SecondFactor != counts || changed.SecondFactor != counts {
		s.Errorf("%t %t %t, want %t", user.SecondFactor, byEmail.SecondFactor, changed.SecondFactor, counts)
	}
}

func testCodesWorkOnce(t *testing.T, s suite) {
	ada := s.user()
	s.factor(ada)
	for name, use := range map[string]func() error{
		"a step":          func() error { return s.store.UseStep(s.ctx, ada, 8) },
		"a recovery code": func() error { return s.store.UseRecoveryCode(s.ctx, ada, []byte("r3")) },
	} {
		var used atomic.Int64
		var group sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			group.Go(func() {
				<-begin
				switch err := use(); protocol.CodeOf(err) {
				case "":
					used.Add(1)
				case protocol.CodeConflict:
				default:
					t.Error(err)
				}
			})
		}
		close(begin)
		group.Wait()
		if used.Load() != 1 {
			t.Errorf("%s was used %d times", name, used.Load())
		}
	}
}
