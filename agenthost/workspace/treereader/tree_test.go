package treereader

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// Whatever a process answers to questions about names, the host takes no more than it has asked for.
func FuzzTree(f *testing.F) {
	f.Add([]byte("e\x00\x01\x01a\x01\x01\x01e\x01a\x01\x03\x01\x03123e\x01\x00e\x05e"))
	f.Add([]byte("r\x01a\x00r\x00\x01r\x01a\x02r\x01a\x03"))
	f.Add([]byte("e\x01\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, answers []byte) {
		tree := NewTree(io.Discard, bytes.NewReader(answers), &TreeRequest{})
		entries, _, err := tree.List("d", 3)
		if len(entries) > 3 || err == nil && len(entries) > 0 && !isElement(entries[len(entries)-1].Name) {
			t.Errorf("listed %v", entries)
		}
		_, content, err := tree.Read(Part{Path: "d/f", Limit: 8})
		if len(content) > maxPath || err != nil && len(content) > 0 && !errors.Is(err, errWire) {
			t.Errorf("read %d bytes, %v", len(content), err)
		}
		if ignored, _ := tree.Ignored("d", []string{"a", "b"}); len(ignored) > 2 {
			t.Errorf("ignored %v", ignored)
		}
		if size, _ := tree.Size(); size < 0 {
			t.Errorf("%d bytes", size)
		}
		for _, err := range []error{tree.Remove("a"), tree.RemoveAll()} {
			if failure := (*Failure)(nil); errors.As(err, &failure) && failure.Why >= causes {
				t.Errorf("an unknown cause: %+v", failure)
			}
		}
	})
}
