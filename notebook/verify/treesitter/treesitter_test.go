package treesitter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// The module in the tree is the one whose hash the build wrote down, and each package in it has a
// version, a hash and a licence.
func TestTheModuleIsTheListedOne(t *testing.T) {
	t.Parallel()
	code, err := decompress()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(code)
	if got := hex.EncodeToString(sum[:]); got != grammars().Module.SHA256 {
		t.Errorf("module.wasm.gz has SHA-256 %s, grammars.json says %s", got, grammars().Module.SHA256)
	}
	type entry struct{ Package, Version, SHA512, Licence string }
	var all struct {
		Core     entry
		Grammars []entry
	}
	if err := json.Unmarshal(listed, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Grammars) != len(grammars().Grammars) {
		t.Fatalf("%d grammars", len(all.Grammars))
	}
	for _, e := range append(all.Grammars, all.Core) {
		if e.Package == "" || e.Version == "" || len(e.SHA512) != 88 || e.Licence == "" {
			t.Errorf("incomplete: %+v", e)
		}
		if !strings.Contains(notices, e.Package+" "+e.Version+" ("+e.Licence+")\n") {
			t.Errorf("notices.txt lacks %s", e.Package)
		}
	}
}

// A parse that uses up the memory ends with an error, and the next one works.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m, err := Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close(t.Context()) }()
	_, number, _ := Find("python")
	const tooMuch = 80 << 20
	if _, err := m.Parse(t.Context(), number, strings.Repeat("x", tooMuch), Python); err == nil {
		t.Error("80 MiB of code fitted")
	}
	if m.instance != nil {
		t.Error("the instance is used again")
	}
	result, err := m.Parse(t.Context(), number, "x = 1\n", Python)
	if err != nil || len(result.Findings) != 0 {
		t.Errorf("afterwards: %+v, %v", result, err)
	}
}
