package claude_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files")

// Recordings of the real program (2.1.328) and the resulting output: testdata/CASE
// has program.txt, the program's lines, and output.golden.
func TestRecordingsBecomeOutput(t *testing.T) {
	t.Parallel()
	allowed := agenthost.Answer{Approved: true, Text: "Blue"}
	for name, c := range map[string]struct {
		answer    agenthost.Answer
		interrupt string // interrupt at the first entry of this kind
	}{
		"text":                     {},
		"thinking":                 {},
		"permission-allowed":       {answer: allowed},
		"permission-denied":        {answer: agenthost.Answer{Reason: "User said no"}},
		"command-fails":            {answer: allowed},
		"two-parallel-calls":       {answer: allowed},
		"question":                 {answer: allowed},
		"sub-agent":                {},
		"sub-agent-writes":         {answer: allowed},
		"background-command":       {answer: allowed},
		"error-behind-success-400": {},
		"error-behind-success-401": {},
		"connection-cut":           {},
		"interrupt-streaming":      {interrupt: providertest.KindText},
		"interrupt-while-asked":    {interrupt: providertest.KindConfirm},
		"interrupt-a-sub-agent":    {interrupt: providertest.KindResult},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			script, err := os.ReadFile(filepath.Join(dir, "program.txt"))
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, opening{}, string(script))
			var out *providertest.Recorder
			var outcome agenthost.Outcome
			if c.interrupt == "" {
				out = providertest.Answering(c.answer)
				outcome = s.run(t, out)
			} else {
				out = &providertest.Recorder{}
				outcome = s.interrupt(t, out, c.interrupt, 1)
			}
			lines := append(shown(out),
				fmt.Sprintf("outcome %s %q %s %s", outcome.FinishReason, outcome.Err, outcome.Reason, outcome.Usage), "")
			providertest.Golden(t, *update, filepath.Join(dir, "output.golden"),
				[]byte(strings.Join(append(lines, received(t, s.spec.StateDir)...), "\n")+"\n"))
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
