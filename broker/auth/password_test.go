package auth

import (
	"context"
	"testing"

	"bellhop/protocol"
)

// An account that does not exist must cost a hash too. All slots are taken and the
// client has disconnected, so both kinds of sign-in must end while they wait for a
// slot.
func TestUnknownAccountsCostTheSameWork(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	hash, err := s.HashPassword(t.Context(), "a good password")
	if err != nil {
		t.Fatal(err)
	}
	for range cap(s.hashing) {
		s.hashing <- struct{}{}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, hash := range map[string]string{"known": hash, "unknown": ""} {
		if _, err := s.checkPassword(gone, "a good password", hash); protocol.CodeOf(err) != protocol.CodeUnavailable {
			t.Errorf("%s account: %v", name, err)
		}
	}
}

func TestTheDummyHashMatchesNoPassword(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	if match, err := s.checkPassword(t.Context(), "no account has this password", ""); match || err != nil {
		t.Errorf("got %v, %v", match, err)
	}
}
