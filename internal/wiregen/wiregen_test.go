package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const written = "../../web/client/src/wire.ts"

func TestTypeScriptIsFresh(t *testing.T) {
	t.Parallel()
	want, err := Generate(t.Context(), "bellhop/protocol")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale at %q: run go generate ./protocol", written, firstDifference(string(got), want))
	}
}

// firstDifference is the first line of want that got lacks at its place.
func firstDifference(got, want string) string {
	have := strings.Split(got, "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(have) || have[i] != line {
			return line
		}
	}
	return "the end"
}

func TestShapes(t *testing.T) {
	t.Parallel()
	code, err := Generate(t.Context(), "bellhop/internal/wiregen/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/sample.ts")
	if err != nil {
		t.Fatal(err)
	}
	if _, body, _ := strings.Cut(code, "\n\n"); body != string(want) {
		t.Errorf("got\n%s", body)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"channel": "T.C: no TypeScript for chan int",
		"unknown": "type T is neither a struct nor a set of string constants",
	} {
		if _, err := Generate(t.Context(), "bellhop/internal/wiregen/testdata/"+name); err == nil || err.Error() != message {
			t.Errorf("%s: got %v, want %q", name, err, message)
		}
	}
}
