package storetest

import (
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func forgeToken(userID, forge, secret string) *broker.ForgeToken {
	return &broker.ForgeToken{
		ForgeToken: protocol.ForgeToken{ID: protocol.NewID(), Forge: forge, Kind: protocol.ForgeGitea, CreatedAt: now},
		UserID:     userID, Token: seal.NewSecret(secret),
	}
}

func testForgeTokens(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	first, other := forgeToken(ada, "git.example.org", "old"), forgeToken(ada, "a.example.org:3000", "other")
	bobs := forgeToken(bob, "git.example.org", "bob's")
	for _, token := range []*broker.ForgeToken{first, other, bobs} {
		s.must(s.store.PutForgeToken(s.ctx, token))
	}
	second := forgeToken(ada, "git.example.org", "new")
	s.must(s.store.PutForgeToken(s.ctx, second))
	all, err := s.store.ForgeTokens(s.ctx, ada)
	s.must(err)
	if len(all) != 2 || all[0].ID != other.ID || all[1].ID != second.ID || !all[1].Token.IsZero() ||
		all[1].LastUsedAt != nil {
		t.Errorf("listed %+v", all)
	}
	for token, want := range map[*broker.ForgeToken]string{other: "other", second: "new", bobs: "bob's"} {
		opened, err := s.store.OpenForgeToken(s.ctx, token.UserID, token.ID)
		s.must(err)
		if opened.Token.Reveal() != want || opened.Forge != token.Forge || opened.Kind != protocol.ForgeGitea {
			t.Errorf("opened %+v, want %s", opened, want)
		}
	}
	for _, id := range []string{first.ID, bobs.ID} { // replaced, another user's
		_, err := s.store.OpenForgeToken(s.ctx, ada, id)
		s.code(err, protocol.CodeNotFound)
		s.code(s.store.DeleteForgeToken(s.ctx, ada, id), protocol.CodeNotFound)
	}
	at := now.Add(time.Hour)
	s.must(s.store.TouchForgeToken(s.ctx, second.ID, at))
	s.must(s.store.TouchForgeToken(s.ctx, first.ID, at))
	opened, err := s.store.OpenForgeToken(s.ctx, ada, second.ID)
	s.must(err)
	if opened.LastUsedAt == nil || !opened.LastUsedAt.Equal(at) {
		t.Errorf("used at %v", opened.LastUsedAt)
	}
	s.must(s.store.DeleteForgeToken(s.ctx, ada, second.ID))
	s.must(s.store.RevokeUser(s.ctx, ada, now))
	if all, err = s.store.ForgeTokens(s.ctx, ada); err != nil || len(all) != 0 {
		t.Errorf("of a user whose access ended: %+v %v", all, err)
	}
	if all, err = s.store.ForgeTokens(s.ctx, bob); err != nil || len(all) != 1 {
		t.Errorf("of the other user: %+v %v", all, err)
	}
}
