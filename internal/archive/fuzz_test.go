package archive

import (
	"bytes"
	"strings"
	"testing"

	"bellhop/protocol"
)

// A file that is not a complete archive of this version is refused, and read to its end at most.
func FuzzRead(f *testing.F) {
	var complete bytes.Buffer
	w := newWriter(&complete)
	for _, l := range []*line{
		{Archive: &header{Format: format, Schema: 7}}, {Table: "tasks", Row: map[string]any{"id": "x"}},
	} {
		if err := w.write(l); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		f.Fatal(err)
	}
	f.Add(complete.String())
	f.Add(strings.Replace(complete.String(), "tasks", "users", 1))
	f.Add(complete.String() + "{}\n")
	f.Add("{}\n{}\n")
	f.Add(`{"archive":{"format":1,"schema":7}}` + "\n" + `{"table":"tasks","row":{"id":1e400}}` + "\n")
	f.Fuzz(func(t *testing.T, content string) {
		lines := 0
		err := read(strings.NewReader(content), 7, func(number int, l *line) error {
			if lines++; number != lines+1 || l.End != nil {
				t.Errorf("line %d is passed on as number %d", lines, number)
			}
			return nil
		})
		if err != nil && protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%v", err)
		}
		if err == nil && strings.Count(content, "\n") != lines+2 {
			t.Errorf("%d lines of %q were read", lines, content)
		}
	})
}
