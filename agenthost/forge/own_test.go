package forge

import (
	"strings"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/testenv/fakeforge"
	"bellhop/protocol"
)

func TestTheOwnTokenOfAUserCountsInPlaceOfTheHosts(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, s *site) {
		name, _ := protocol.SplitAddress(s.address)
		set, err := New(map[string]Config{
			name: {Kind: s.Forge.Kind, API: "http://" + name + s.Suffix(), Token: seal.NewSecret("expired-of-host")},
		}, func() time.Time { return start })
		if err != nil {
			t.Fatal(err)
		}
		s.Set = set
		for _, c := range []struct {
			own  *protocol.ForgeCredential
			want string // in the error
		}{
			{nil, "refused the token of the agent host"},
			{&protocol.ForgeCredential{Forge: "example.org", Token: fakeforge.Token}, "refused the token of the agent host"},
			{&protocol.ForgeCredential{Forge: name, Token: "expired-own"}, "refused your own token for " + name},
			{&protocol.ForgeCredential{Forge: name, Token: fakeforge.Token}, ""},
		} {
			s.own = c.own
			_, _, err := s.request("Open the shop")
			switch {
			case c.want == "" && err == nil:
			case c.want == "" || protocol.CodeOf(err) != protocol.CodeRemoteFailed || !strings.Contains(err.Error(), c.want):
				t.Errorf("%+v: %v", c.own, err)
			case strings.Contains(err.Error(), "expired-o"):
				t.Errorf("a token is in the error: %v", err)
			}
		}
		if _, password := s.Login(s.address, s.own); password.Reveal() != fakeforge.Token {
			t.Error("git does not sign in with the own token")
		}
	})
}

func TestTheOwnTokenOfAUserMakesAForgeKnown(t *testing.T) {
	t.Parallel()
	set, err := New(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const address = "https://git.example.org/ada/shop.git"
	own := &protocol.ForgeCredential{Forge: "git.example.org", Kind: protocol.ForgeGitLab, Token: "secret"}
	if set.Kind(address, nil) != "" || set.Kind(address, own) != protocol.ForgeGitLab {
		t.Error("the kind of the forge")
	}
	if user, password := set.Login(address, own); user != "oauth2" || password.Reveal() != "secret" {
		t.Error("the login at the forge")
	}
	if at := set.find(address, own); at.api.String() != "https://git.example.org/api/v4" {
		t.Errorf("the API at %s", at.api)
	}
	for _, other := range []string{
		"http://git.example.org/ada/shop.git", "ssh://git@git.example.org/ada/shop.git", "https://example.org/ada/shop.git",
	} {
		if user, _ := set.Login(other, own); user != "" {
			t.Errorf("%s gets the token", other)
		}
	}
}
