package workspace_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/forge"
	"bellhop/crypto/seal"
	"bellhop/internal/testenv/fakeforge"
	"bellhop/protocol"
)

// A user's own token is used for one request, and is found nowhere afterwards.
func TestTheOwnTokenOfAUserIsUsedOnceAndKeptNowhere(t *testing.T) {
	t.Parallel()
	s := atForge(t, protocol.ForgeGitea)
	name, _ := protocol.SplitAddress(s.address)
	forges, err := forge.New(map[string]forge.Config{
		name: {Kind: protocol.ForgeGitea, API: "http://" + name + s.forge.Suffix(), Token: seal.NewSecret("expired-of-host")},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	s.options.Forges = forges
	s.options.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.open(t)
	own := func(forge, token string) *protocol.ForgeCredential {
		return &protocol.ForgeCredential{Forge: forge, Kind: protocol.ForgeGitea, Token: token}
	}
	steps := map[string]func(own *protocol.ForgeCredential) error{
		"push": func(own *protocol.ForgeCredential) error {
			_, err := s.Push(t.Context(), "s1", "shop", &protocol.PushRequest{}, own)
			return err
		},
		"fetch": func(own *protocol.ForgeCredential) error {
			_, err := s.FetchRemote(t.Context(), "s1", "shop", own)
			return err
		},
		"pull request": func(own *protocol.ForgeCredential) error {
			_, err := s.PullRequest(t.Context(), "s1", "shop", &protocol.PullRequestRequest{Title: "Work"}, own)
			return err
		},
	}
	for _, step := range []string{"push", "fetch", "pull request"} {
		do := steps[step]
		if step == "pull request" {
			if err := steps["push"](own(name, fakeforge.Token)); err != nil {
				t.Fatal(err)
			}
		}
		for what, c := range map[string]struct {
			own  *protocol.ForgeCredential
			code protocol.Code
			want string
		}{
			"the host's":      {nil, protocol.CodeRemoteFailed, "of the agent host"},
			"a wrong one":     {own(name, "expired-own"), protocol.CodeRemoteFailed, "your own token"},
			"another forge's": {own("git.example.org", fakeforge.Token), protocol.CodeConflict, "not for the forge"},
			"none":            {own(name, " "), protocol.CodeInvalid, "token is required"},
			"the right one":   {own(name, fakeforge.Token), "", ""},
		} {
			err := do(c.own)
			if protocol.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %s: %v", step, what, err)
			}
			if err != nil && strings.Contains(err.Error(), "expired-o") {
				t.Errorf("%s with %s: a token is in the error: %v", step, what, err)
			}
		}
	}
	shop := s.options.Projects["shop"].Path
	git(t, shop, "remote", "set-url", "origin", "http://eve:hunter2@git.example.org/ada/shop.git")
	if err := steps["push"](own("git.example.org", fakeforge.Token)); protocol.CodeOf(err) != protocol.CodeConflict ||
		!strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("over http: %v", err)
	}
	if strings.Contains(log.String(), fakeforge.Token) {
		t.Errorf("the token is in the log: %s", log)
	}
	err = filepath.WalkDir(s.options.Data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(fakeforge.Token)) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
