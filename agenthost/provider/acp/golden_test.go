package acp_test

import (
	"flag"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { providertest.Main(m) }

// Recordings of the real programs, one turn each.
func TestRecordings(t *testing.T) {
	t.Parallel()
	deny := agenthost.Answer{Reason: "no"}
	allow := agenthost.Answer{Approved: true}
	record := providertest.NewRecording
	providertest.PlayRecordings(t, *update, []providertest.Recording{
		record("gemini-text", "a block without an id is ended with the turn", "Say hello", deny, ""),
		record("gemini-think", "reasoning ends where the text begins", "THINK please", deny, ""),
		record("gemini-write", "a permission request may be the first word of its call", "WRITE acp-hello.txt", allow, ""),
		record("gemini-reject", "a rejected call that gets no update has a denied result", "WRITE acp-rejected.txt",
			deny, ""),
		record("gemini-bash", "the content of a permission request is not the result",
			"BASH touch acp-bash.txt; echo made", allow, ""),
		record("gemini-read-missing", "a call without permission that fails is an error", "READ nope-missing.md", deny, ""),
		record("gemini-cancel", "a cancelled turn is aborted", "SLOW 100", deny, providertest.KindText),
		record("gemini-cancel-permission", "a cancel answers the open permission request, or the agent hangs",
			"WRITE acp-never.txt", deny, providertest.KindConfirm),
		record("gemini-unauthorized", "an error of the prompt is a failure in words", "FAIL401", deny, ""),
		record("claude-write", "a call that arrives in parts is announced once complete", "WRITE acp-hello.txt", allow, ""),
		record("claude-reject", "a rejected call that fails is denied, and the agent continues",
			"WRITE acp-rejected.txt", deny, ""),
		record("claude-bash-fails", "a command that fails is an error with its output", "BASH echo oops >&2; exit 3",
			allow, ""),
		record("claude-task", "the agent tool is a call like any other", "TASK go", allow, ""),
		record("claude-cancel-permission", "a permission request that the agent cancels is cancelled", "WRITE acp-never.txt",
			deny, providertest.KindConfirm),
		record("codex-write", "an approved call is carried out", "WRITE acp-hello.txt", allow, ""),
		record("codex-reject", "an agent that ends its turn for a rejection has finished", "WRITE acp-rejected.txt",
			deny, ""),
		record("opencode-write", "a call is announced before its permission is asked", "WRITE acp-hello.txt", allow, ""),
	}, func(base *providertest.Fixture, r providertest.Recording) {
		f := fixtureOf(base)
		if strings.HasPrefix(r.Name, "codex-") {
			f.options.Mode = "read-only" // its default mode edits without asking
		}
		f.options.TitleIsCommand = strings.HasPrefix(r.Name, "gemini-")
	})
}
