package agent

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"bellhop/protocol"
)

var update = flag.Bool("update", false, "write the transcripts of the stories")

// TestStories replays testdata/stories. "> " lines are sent by the client, "< " lines are the
// agent's exact responses. The next client line is sent after a status, ask, confirm or
// waiting_for_input line; "~" waits for one more of those. "# " lines are comments.
func TestStories(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := workspace(t)
			var got string
			synctest.Test(t, func(t *testing.T) { got = replay(t, dir, string(want)) })
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func replay(t *testing.T, dir, story string) string {
	var transcript strings.Builder
	c := serve(t, Options{Dir: dir})
	written := 0
	writeNew := func() {
		for _, line := range c.seen[written:] {
			transcript.WriteString("< " + line + "\n")
		}
		written = len(c.seen)
	}
	for line := range strings.Lines(story) {
		if strings.HasPrefix(line, "< ") {
			continue
		}
		transcript.WriteString(line)
		if sent, ok := strings.CutPrefix(line, "> "); ok {
			c.send(strings.TrimSpace(sent))
		}
		if !strings.HasPrefix(line, "#") {
			c.until(protocol.LineStatus, protocol.LineAsk, protocol.LineConfirm, protocol.LineState)
			writeNew()
		}
	}
	c.ends()
	writeNew()
	return transcript.String()
}
