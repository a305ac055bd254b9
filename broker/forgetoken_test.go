package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

func tokensOf(k *kit) *broker.ForgeTokens {
	return &broker.ForgeTokens{Store: k.store, Now: k.clock.Now}
}

func TestTokensForForgesAreKeptUntilTheyAreRemoved(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	tokens := tokensOf(k)
	user := k.user.UserID
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: user})
	add := func(forge, kind, token string) error {
		_, err := tokens.Add(ctx, user, &protocol.ForgeCredential{Forge: forge, Kind: protocol.ForgeKind(kind), Token: token})
		return err
	}
	k.must(add(" https://GitHub.com/ ", "", "first\n"))
	k.must(add("github.com", "", "second"))
	k.must(add("127.0.0.1:3000", "gitea", "third"))
	for name, c := range map[string]struct{ forge, kind, token string }{
		"no forge":         {"", "gitea", "x"},
		"a path":           {"github.com/ada", "", "x"},
		"no known kind":    {"git.example.org", "", "x"},
		"another kind":     {"git.example.org", "svn", "x"},
		"no token":         {"github.com", "", " "},
		"two lines":        {"github.com", "", "a\nb"},
		"a long token":     {"github.com", "", strings.Repeat("x", protocol.MaxForgeToken+1)},
		"not of a keyset":  {"github.com", "", "tökén"},
		"an address of no": {"https://", "gitea", "x"},
	} {
		if err := add(c.forge, c.kind, c.token); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := tokens.List(ctx, user)
	k.must(err)
	if len(all) != 2 || all[0].Forge != "127.0.0.1:3000" || all[1].Forge != "github.com" ||
		all[1].Kind != protocol.ForgeGitHub {
		t.Fatalf("%+v", all)
	}
	opened, err := k.store.OpenForgeToken(k.ctx, user, all[1].ID)
	k.must(err)
	if opened.Token.Reveal() != "second" {
		t.Error("an earlier token is used")
	}
	eve := k.newUser("eve@example.org", false).UserID
	if err := tokens.Remove(ctx, eve, all[1].ID); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user's: %v", err)
	}
	k.must(tokens.Remove(ctx, user, all[1].ID))
	for i := range 19 {
		k.must(add(fmt.Sprintf("f%d.example.org", i), "gitea", "x"))
	}
	if err := add("more.example.org", "gitea", "x"); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("too many: %v", err)
	}
	k.must(add("127.0.0.1:3000", "gitea", "replacement"))
}

func TestTheOwnTokenOfAUserGoesWithTheirActs(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &shipper{}
	tokens := tokensOf(k)
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link, Tokens: tokens}
	task, user := k.task(), k.user.UserID
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: user})
	remote := &protocol.RemoteState{Address: "https://git.example.org/ada/shop.git", TakesToken: true}
	asked := 0
	k.host.onWorkspace = func() (*protocol.SessionWorkspace, error) {
		asked++
		return &protocol.SessionWorkspace{Workspace: &protocol.WorkspaceState{Remote: remote}}, nil
	}
	act := func() error {
		_, err := ships.Push(ctx, user, task.ID, &protocol.PushRequest{})
		if err == nil {
			_, err = ships.Fetch(ctx, user, task.ID)
		}
		if err == nil {
			_, err = ships.PullRequest(ctx, user, task.ID, &protocol.PullRequestRequest{Title: "Work"})
		}
		return err
	}
	sent := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, own := range link.own {
			if own == nil {
				got = append(got, "-")
			} else {
				got = append(got, own.Token.Reveal())
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: sent %v, want %v", what, got, want)
		}
		link.own = nil
	}
	k.must(act())
	sent("without a token", "-", "-", "-")
	if asked > 0 {
		t.Error("the host is asked for its remote without need")
	}
	add := func(forge, token string) {
		_, err := tokens.Add(ctx, user, &protocol.ForgeCredential{Forge: forge, Kind: protocol.ForgeGitea, Token: token})
		k.must(err)
	}
	add("another.example.org", "another")
	k.must(act())
	sent("for another forge", "-", "-", "-")
	add("git.example.org", "ada's")
	k.must(act())
	sent("for the forge", "ada's", "ada's", "ada's")
	remote.Address = "git@git.example.org:ada/shop.git"
	k.must(act())
	sent("over ssh", "-", "-", "ada's")
	remote.Address = "https://git.example.org/ada/shop.git"
	all, err := tokens.List(ctx, user)
	k.must(err)
	if all[0].LastUsedAt != nil || all[1].LastUsedAt == nil || !all[1].LastUsedAt.Equal(k.clock.Now()) {
		t.Errorf("last uses %v %v", all[0].LastUsedAt, all[1].LastUsedAt)
	}
	k.must(tokens.AddForge(ctx, user, remote))
	if remote.Forge != protocol.ForgeGitea {
		t.Errorf("the forge is %q", remote.Forge)
	}
	remote.TakesToken = false
	if err := act(); protocol.CodeOf(err) != protocol.CodeBadGateway || !strings.Contains(err.Error(), "your own token") {
		t.Errorf("a host that would use its own: %v", err)
	}
	sent("to such a host")
	k.must(tokens.Remove(ctx, user, all[1].ID))
	k.must(act())
	sent("after it was removed", "-", "-", "-")
}
