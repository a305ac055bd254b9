package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the examples of docs/sizing.md print")

// example is a command of the page that is followed by what it prints.
var example = regexp.MustCompile("(```sh\nbellhop (simulate [^\n]+)\n```\n\n```text\n)((?:[^`]|`[^`])*)(```)")

// The examples of docs/sizing.md are what the command prints.
func TestTheExamplesOfTheSizingPagePrintWhatItShows(t *testing.T) {
	page := filepath.Join(projectRoot, "docs", "sizing.md")
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	want := example.ReplaceAllStringFunc(string(content), func(found string) string {
		examples++
		parts := example.FindStringSubmatch(found)
		out, stderr, code := simulated(strings.Fields(parts[2])...)
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", parts[2], code, stderr)
		}
		return parts[1] + out + parts[4]
	})
	if examples < 3 {
		t.Fatalf("only %d examples found", examples)
	}
	if *update {
		err = os.WriteFile(page, []byte(want), 0o600)
	} else if want != string(content) {
		t.Errorf("the examples of %s are not what the command prints: go test ./cmd/bellhop -run Sizing -update", page)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func simulated(args ...string) (stdout, stderr string, code int) {
	var out, errors bytes.Buffer
	code = run(context.Background(), nil, args, strings.NewReader(""), &out, &errors)
	return out.String(), errors.String(), code
}

func TestSimulateReadsTheUsersFigures(t *testing.T) {
	figures := filepath.Join(t.TempDir(), "figures.md")
	content, err := os.ReadFile(filepath.Join(projectRoot, "docs", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	slower := regexp.MustCompile(`per event broker [0-9.]+ µs`).ReplaceAll(content, []byte("per event broker 1.5 s"))
	if err := os.WriteFile(figures, slower, 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := simulated("simulate", "--users", "100", "--hosts", "5", "--json", "--figures", figures)
	if code != 0 {
		t.Fatal(stderr)
	}
	var report struct {
		Bottleneck string
		Figures    map[string]struct {
			Value float64
			From  string
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	got := report.Figures["broker.event"]
	if report.Bottleneck != "broker CPU" || got.Value != 1.5 || got.From != figures {
		t.Errorf("bottleneck %q, figure %+v", report.Bottleneck, got)
	}
}

func TestSimulateRefusesBadInput(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.md")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want string }{
		{"no users", "--users 0 --hosts 1", "--users is 0; it must be between 1 and 10,000,000"},
		{"negative hosts", "--users 1 --hosts=-1", "--hosts is -1; it must be between 1 and 100,000"},
		{"a size that is none", "--users 1 --hosts 1 --host-memory much", `--host-memory is "much", which is no size`},
		{"an unknown pattern", "--users 1 --hosts 1 --pattern moon", "It is one of: nightly, office, world."},
		{"figures that are none", "--users 1 --hosts 1 --figures " + empty, "Write them with: bellhop bench > " + empty},
		{"no sizes at all", "", "missing flags"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, stderr, code := simulated(append([]string{"simulate"}, strings.Fields(c.args)...)...)
			if code == 0 || out != "" && c.args != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stderr %q, stdout %q", code, stderr, out)
			}
		})
	}
}
