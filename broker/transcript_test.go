package broker_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

func (k *kit) export(taskID string, masked bool) string {
	k.t.Helper()
	transcripts := &broker.Transcripts{Store: k.store, Targets: k.targets}
	var out bytes.Buffer
	begun := 0
	k.must(transcripts.Export(k.ctx, k.user.UserID, taskID, masked, func() { begun++ }, &out))
	if begun != 1 {
		k.t.Errorf("begun %d times", begun)
	}
	return out.String()
}

func TestATaskIsExportedAsMarkdown(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task, second := k.sharedTask()
		k.mustSend(task.ID, "", seqd(1, 10, second.TurnID, `'type':'finish','finishReason':'other','reason':'aborted'`))
		head := "# Fix it\n\n- Created: 2026-03-04 05:06:07 UTC\n"
		const rest = `
---

## User, 2026-03-04 05:06:07 UTC

> Deploy with PASSWORD to AGENT/hook

## Agent, 2026-03-04 05:06:07 UTC

<details>
<summary>bash, done</summary>

Input:

'''json
{
  "command": "curl -H \"Authorization: HEADER\" x",
  "apiKey": "KEY"
}
'''

Output:

'''
installation-secret MODEL
'''

</details>

*Allowed: because I say so*

> Done & &lt;b>well&lt;/b>

Question of the agent:

> Which PIN?

*Answered*

> pin-4711

---

## User, 2026-03-04 05:06:07 UTC

> Second message

## Agent, 2026-03-04 05:06:07 UTC

> half an answer

*Stopped by the user*
`
		plain := strings.NewReplacer("'''", "```", "PASSWORD", "agent-password", "AGENT", "https://agent.example",
			"HEADER", "Bearer abcdefgh12345678", "KEY", "k-1", "MODEL", "sk-ant-api03-abcdefghijklmnop1234").Replace(rest)
		if got := k.export(task.ID, false); got != head+plain {
			t.Errorf("got\n%s\nwant\n%s", got, head+plain)
		}
		const mask = "[redacted]"
		masked := strings.NewReplacer("'''", "```", "PASSWORD", `[redacted]`, "AGENT", `[redacted]`,
			"HEADER", mask, "KEY", mask, "MODEL", mask).Replace(rest)
		if got := k.export(task.ID, true); got != head+"- Secrets are masked.\n"+masked {
			t.Errorf("got\n%s\nwant\n%s", got, masked)
		}
	})
}

func TestTextsOfOthersKeepTheirPlaceInAnExport(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "# <img src=x onerror=alert(1)>\n## User", AgentURL: "https://agent.example/", AgentPassword: "agent-password",
	})
	k.must(err)
	in := k.checkIn(task.ID, "```\n## Agent\n\n</details>")
	k.mustSend(task.ID, "",
		seqd(1, 1, in.TurnID,
			"'type':'tool-call','toolCallId':'c1','toolName':'</summary><script>','input':'a\\n`````\\n</details>'"),
		seqd(1, 2, in.TurnID, text("[a](javascript:alert(1)) ![b](http://t.example/c.png) <script>d</script>")),
		seqd(1, 3, in.TurnID, finishStop))
	got := k.export(task.ID, false)
	for _, part := range []string{
		"# \\# \\<img src=x onerror=alert(1)\\> \\#\\# User\n", "> ```\n> ## Agent\n>\n> </details>\n> ```\n",
		"<summary>&lt;/summary&gt;&lt;script&gt;, result unknown</summary>",
		"Input:\n\n``````\na\n`````\n</details>\n``````\n",
		"> [a]\\(javascript:alert(1)) &#33;[b](http://t.example/c.png) &lt;script>d&lt;/script>\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

// largest records the size of the largest write and of all.
type largest struct {
	max   int
	total int64
}

func (l *largest) Write(p []byte) (int, error) {
	l.max = max(l.max, len(p))
	l.total += int64(len(p))
	return len(p), nil
}

func TestALongTaskIsExportedInPages(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "Go")
	const messages = 1500
	seq := int64(0)
	for seq < messages {
		var batch []string
		for range 100 {
			seq++
			batch = append(batch, seqd(1, seq, in.TurnID, text(fmt.Sprintf("part %d. %s", seq, strings.Repeat("x", 500)))))
		}
		k.mustSend(task.ID, "", batch...)
	}
	k.mustSend(task.ID, "", seqd(1, seq+1, in.TurnID, `'type':'finish','finishReason':'error','reason':'it broke'`))
	transcripts := &broker.Transcripts{Store: k.store, Targets: k.targets}
	var out bytes.Buffer
	var sizes largest
	k.must(transcripts.Export(k.ctx, k.user.UserID, task.ID, false, func() {}, io.MultiWriter(&out, &sizes)))
	if sizes.max > 8<<10 || sizes.total < messages*500 {
		t.Errorf("the largest of the writes has %d bytes, of %d", sizes.max, sizes.total)
	}
	for i := range messages {
		if n := strings.Count(out.String(), fmt.Sprintf("part %d. ", i+1)); n != 1 {
			t.Fatalf("message %d is there %d times", i+1, n)
		}
	}
	const end = "\n*The turn ended: it broke*\n"
	if n := strings.Count(out.String(), "## Agent"); n != 1 || !strings.HasSuffix(out.String(), end) {
		t.Errorf("%d headings", n)
	}
}

func TestOnlyTheOwnerExportsATask(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	transcripts := &broker.Transcripts{Store: k.store, Targets: k.targets}
	bob := k.newUser("bob@example.org", false)
	err := transcripts.Export(k.ctx, bob.UserID, task.ID, false, func() { t.Error("the document begins") }, io.Discard)
	same(t, fault(err), `{'code':'not_found','error':'Task not found'}`)
}
