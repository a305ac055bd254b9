package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bellhop/protocol"
)

// readForges reads a file and the tokens of its forges.
func readForges(t *testing.T, text string, variables map[string]string) (HostFile, error) {
	t.Helper()
	file, err := projectsOf(t, text)
	if err == nil {
		err = file.ReadTokens(func(name string) (string, bool) { v, ok := variables[name]; return v, ok }, os.ReadFile)
	}
	if err == nil {
		_, err = file.openForges()
	}
	return file, err
}

func TestForgesOfTheHostFile(t *testing.T) {
	t.Parallel()
	token := t.TempDir() + "/token"
	if err := os.WriteFile(token, []byte("of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := readForges(t, `forges:
  github.com: {tokenFile: `+token+`}
  git.example.org: {kind: gitea, url: "https://git.example.org/sub/api/v1", tokenVariable: GITEA_TOKEN}
`, map[string]string{"GITEA_TOKEN": "of-a-variable"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := file.openForges()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://github.com/ada/shop.git": "of-a-file", "https://git.example.org/sub/ada/shop": "of-a-variable",
	} {
		if _, password := set.Login(address, nil); password.Reveal() != want {
			t.Errorf("%s: another token", address)
		}
	}
	secrets := HostConfig{File: file}.secretValues()
	if !slices.Contains(secrets, "of-a-file") || !slices.Contains(secrets, "of-a-variable") {
		t.Error("tokens are not removed from agents' output")
	}
}

func TestInvalidForgesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a token in the file": {`{token: secret}`, "a forge has no token"},
		"no token":            {`{kind: github}`, "name tokenFile or tokenVariable"},
		"both":                {`{tokenFile: a, tokenVariable: B}`, "name tokenFile or tokenVariable, not both"},
		"a missing file":      {`{tokenFile: /no/such/token}`, "read /no/such/token: no such file"},
		"an unset variable":   {`{tokenVariable: UNSET}`, "UNSET has no token of one line"},
		"two lines":           {`{tokenVariable: TWO}`, "TWO has no token of one line"},
		"another kind":        {`{kind: svn, tokenVariable: ONE}`, "kind is one of"},
		"plain http":          {`{url: "http://example.org", tokenVariable: ONE}`, "needs https"},
		"a string":            {`github`, "a forge has kind, url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readForges(t, "forges: {github.com: "+c.text+"}", map[string]string{"TWO": "secret\nx", "ONE": "secret"})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") &&
				protocol.CodeOf(err) == protocol.CodeInvalid {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
