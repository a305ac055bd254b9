package launch

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the profile of macOS")

// The profile of macOS is compared with a golden file: no test can run it on another system.
func TestTheProfileOfMacOS(t *testing.T) {
	t.Parallel()
	got := seatbelt(Spec{
		Read:  []string{"/Users/ada/.cache/bellhop/agents", "/usr/local/go"},
		Write: []string{"/Users/ada/data/workspaces/s1", `/Users/ada/data/state/s"1\`},
	})
	golden := filepath.Join("testdata", "macos.sb")
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(golden, []byte(got), 0o644)) //nolint:gosec // a golden file
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if got != string(want) {
		t.Errorf("the profile is\n%s", got)
	}
	if strings.Count(got, "(") != strings.Count(got, ")") {
		t.Error("a parenthesis is missing")
	}
	if empty := seatbelt(Spec{}); strings.Contains(empty, "allow file-read* file-write*") {
		t.Errorf("a rule without paths would allow everything:\n%s", empty)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
