package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// FuzzLines feeds arbitrary bytes to the stdio front end. For any input, only complete protocol
// lines are written, every accepted input ends exactly once, and Stdio returns at the end of
// input.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"type\":\"input\",\"text\":\"help\"}\n{\"type\":\"interrupt\"}\n"))
	f.Add([]byte("{\"type\":\"confirmation\",\"request_id\":\"id-2\",\"value\":true,\"remember\":\"session\"}\n\n{"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		completer := &played{completions: [][]any{{"text", list(".")}, {"more"}}}
		if err := Stdio(ctx, bytes.NewReader(in), &out, Options{Dir: dir, Completer: completer}); err != nil {
			t.Fatal(err)
		}
		began, ended := 0, 0
		greeted := false
		for raw := range strings.Lines(out.String()) {
			var line protocol.Line
			if err := json.Unmarshal([]byte(raw), &line); err != nil || !strings.HasSuffix(raw, "\n") {
				t.Fatalf("not a line: %q", raw)
			}
			switch {
			case line.Type == protocol.LineHello && !greeted:
				greeted = true
			case line.State == protocol.StateWaitingForInput:
				ended++
			case line.Type == protocol.LineState && began == ended:
				began++
			case line.Type == protocol.LineStatus && line.Level == "error" && line.Message != "":
			case began == ended:
				t.Fatalf("outside of a turn: %q", raw)
			}
		}
		if began != ended {
			t.Fatalf("%d turns began, %d ended", began, ended)
		}
	})
}
