package recording

import (
	"os"
	"path/filepath"
	"testing"
)

// A damaged line of a recording is an error of this line alone.
func FuzzRead(f *testing.F) {
	for _, content := range []string{
		`{"part":1,"at":"2026-01-02T03:04:05Z"}` + "\n", `{"session":"s","input":{}}` + "\n{}\n",
		"\n\n[]\n\x00\xff", `{"input":null}`,
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "recording")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		last := 0
		for entry, err := range Read(path) {
			if entry.Line <= last && err == nil {
				t.Errorf("line %d after line %d", entry.Line, last)
			}
			last = entry.Line
		}
	})
}
