package codex_test

import (
	"flag"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { providertest.Main(m) }

// Recordings of the real program, one turn each.
func TestRecordings(t *testing.T) {
	t.Parallel()
	deny := agenthost.Answer{Reason: "no"}
	allow := agenthost.Answer{Approved: true}
	record := providertest.NewRecording
	providertest.PlayRecordings(t, *update, []providertest.Recording{
		record("text", "a text is its deltas, ended once", "Say hello", deny, ""),
		record("think", "reasoning comes before the text", "THINK please", deny, ""),
		record("command", "an approved command runs, with its aggregated output", "BASH touch cx-bash.txt; echo made",
			allow, ""),
		record("command-fails", "a command that fails is an error with its exit code", "BASH echo oops >&2; exit 3",
			allow, ""),
		record("command-long", "output deltas are lossy, the aggregated output is whole",
			"BASH for i in 1 2 3 4; do echo line$i; sleep 0.3; done", allow, ""),
		record("command-declined", "a declined command is denied, and the agent continues", "BASH touch declined.txt",
			deny, ""),
		record("patch", "a change of files shows its diff before the answer", "WRITE p-gpt-5.5-untrusted.txt", allow, ""),
		record("patch-declined", "a declined change is denied, and the agent continues", "WRITE pd-gpt-5.5.txt", deny, ""),
		record("interrupt", "an interrupted text is never completed, its block is ended", "SLOW 100", deny,
			providertest.KindText),
		record("interrupt-approval", "an interrupt cancels the open approval, resolved after the turn", "BASH touch hold.txt",
			deny, providertest.KindConfirm),
		record("unauthorized", "a refused key is a failure in words, the retry a notice", "FAIL401", deny, ""),
		record("bad-request", "a refused request is a failure", "FAIL400", deny, ""),
		record("rate-limited", "a rate limit is a failure after its retries", "FAIL429", deny, ""),
		record("cut-off", "a lost connection is a failure, and earlier text stays", "DROP", deny, ""),
	}, func(base *providertest.Fixture, _ providertest.Recording) { fixtureOf(base) })
}
