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

// reports is a program that reports whether an input had the record in it.
const reports = `
while read -r line; do
	case $line in
	*record*) echo '{"type":"chunk","content":"told"}' ;;
	*) echo '{"type":"chunk","content":"not told"}' ;;
	esac
	echo '{"type":"state","state":"waiting_for_input","reason":"done"}'
done`

// A program that keeps nothing gets the record once in each of its lives.
func TestAProgramWithoutMemoryGetsTheRecord(t *testing.T) {
	for name, c := range map[string]struct {
		restore bool
		memory  string
		want    []string
	}{
		"one without memory":               {true, "the record of it: ", []string{"told", "not told", "told"}},
		"nothing was said yet":             {true, "", []string{"not told", "not told", "not told"}},
		"one that is left to its own HOME": {false, "the record of it: ", []string{"not told", "not told", "not told"}},
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
