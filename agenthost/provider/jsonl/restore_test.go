package jsonl_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/jsonl"
	"bellhop/agenthost/provider/providertest"
)

// reports is a program that reports whether an input contained the record.
const reports = `
while read -r line; do
	case $line in
	*record*) echo '{"type":"chunk","content":"record"}' ;;
	*) echo '{"type":"chunk","content":"none"}' ;;
	esac
	echo '{"type":"state","state":"waiting_for_input","reason":"done"}'
done`

// A program without memory gets the record once after each start.
func TestAProgramWithoutMemoryGetsTheRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		restore bool
		memory  string
		want    []string
	}{
		"a program without memory":          {true, "the record of it: ", []string{"record", "none", "record"}},
		"a first turn":                      {true, "", []string{"none", "none", "none"}},
		"a program with memory in its HOME": {false, "the record of it: ", []string{"none", "none", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := jsonl.New(jsonl.Options{
				Command: []string{"sh", "-c", reports}, Restore: c.restore, Grace: 50 * time.Millisecond,
			}).Open(t.Context(), agenthost.AgentSpec{SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Close(context.Background()) }()
			var got []string
			for life := range 2 {
				for range 2 - life {
					out := &providertest.Recorder{Memory: c.memory}
					run(t, a, out)
					got = append(got, out.Texts()...)
				}
				if err := a.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
