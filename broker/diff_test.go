package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

func diffOf(patch string, files ...string) *protocol.Diff {
	d := &protocol.Diff{Base: "0123", Files: []protocol.DiffFile{}, Patch: patch}
	for _, path := range files {
		d.Files = append(d.Files, protocol.DiffFile{Path: path, Status: protocol.DiffAdded, Additions: 1})
	}
	return d
}

func TestDiffIsAMessage(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	sent := k.checkIn(task.ID, "go")
	before := k.get(task.ID).Rev
	ask := func(d *protocol.Diff) *protocol.DiffResponse {
		t.Helper()
		k.host.onDiff = func() (*protocol.Diff, error) { return d, nil }
		answer, err := k.sessions.Diff(k.ctx, k.user.UserID, task.ID)
		k.must(err)
		return answer
	}
	same(t, ask(diffOf("")), `{'success':true,'noDiffs':true}`)
	if len(k.messages(task.ID)) != 1 || k.get(task.ID).Rev != before {
		t.Error("nothing changed, and something was stored")
	}
	k.mustSend(task.ID, sent.TurnID, seqd(1, 1, sent.TurnID, text("done")))
	first := ask(diffOf("diff --git a/x b/x\n+<x>\x00\n", "x\x00"))
	rev := k.get(task.ID).Rev
	same(t, first.Message.Artifacts[0].Content,
		`{'files':[{'path':'x�','status':'added','additions':1,'deletions':0}],'patch':'diff --git a/x b/x\n+<x>�\n'}`)
	if first.Message.Role != protocol.RoleAssistant || first.Message.TurnID != sent.TurnID ||
		first.Message.Artifacts[0].Type != protocol.ArtifactDiff ||
		first.Message.Status != protocol.MessageSent || first.NoDiffs || k.notified.rev(task.ID) != rev {
		t.Errorf("got %+v, notified of %d, not %d", first.Message, k.notified.rev(task.ID), rev)
	}
	again := ask(diffOf("diff --git a/x b/x\n+<x>\x00\n", "x\x00"))
	same(t, again, fmt.Sprintf(`{'success':true,'noDiffs':true,'unchangedSince':%d}`, first.Message.Seq))
	if k.get(task.ID).Rev != rev {
		t.Error("the same diff was stored twice")
	}
	other := ask(diffOf("diff --git a/y b/y\n+y\n", "y"))
	if other.Message.ID == first.Message.ID || other.Message.Seq != first.Message.Seq+1 {
		t.Error("another diff was not stored")
	}
	if ask(diffOf("diff --git a/x b/x\n+<x>\x00\n", "x\x00")).Message.ID == first.Message.ID {
		t.Error("a diff of before the last one was taken for the last one")
	}
	if n := len(k.messages(task.ID)); n != 5 {
		t.Errorf("%d messages", n)
	}
}

// What a host left out is told even if nothing else has changed.
func TestWhatADiffLeavesOutIsTold(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.host.onDiff = func() (*protocol.Diff, error) {
		d := diffOf("")
		d.Snapshot, d.LeftOutCount = "0123", -1
		for range protocol.MaxLeftOut + 1 {
			d.LeftOut = append(d.LeftOut, protocol.LeftOut{Path: "p\x00", Reason: "is a FIFO"})
		}
		return d, nil
	}
	answer, err := k.sessions.Diff(k.ctx, k.user.UserID, task.ID)
	k.must(err)
	content := string(answer.Message.Artifacts[0].Content)
	if strings.Count(content, `{"path":"p�","reason":"is a FIFO"}`) != protocol.MaxLeftOut ||
		!strings.HasSuffix(content, fmt.Sprintf(`"leftOutCount":%d}`, protocol.MaxLeftOut)) || !strings.Contains(content, `"snapshot":"0123"`) {
		t.Errorf("got %s", content)
	}
}

// A commit changes the head and nothing that is shown.
func TestADiffNamesWhatACommitNeeds(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	head := "aa"
	k.host.onDiff = func() (*protocol.Diff, error) {
		d := diffOf("+a\n", "a")
		d.Snapshot, d.Head = "0123", head
		return d, nil
	}
	first, err := k.sessions.Diff(k.ctx, k.user.UserID, task.ID)
	k.must(err)
	if first.Snapshot != "0123" || first.Head != "aa" || first.Message == nil {
		t.Errorf("got %+v", first)
	}
	head = strings.Repeat("b", 70) + "\x00"
	again, err := k.sessions.Diff(k.ctx, k.user.UserID, task.ID)
	k.must(err)
	if again.UnchangedSince != first.Message.Seq || again.Head != strings.Repeat("b", 64) {
		t.Errorf("after a commit: %+v", again)
	}
}

func TestADiffOverTheCapIsCut(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.host.onDiff = func() (*protocol.Diff, error) {
		d := diffOf("diff --git a/x b/x\n+x\n"+"diff --git a/y b/y\n"+strings.Repeat("+yyyyyyy\n", 64<<10),
			strings.Repeat("p", 5000))
		for range 5001 {
			d.Files = append(d.Files, protocol.DiffFile{Path: "x", Status: protocol.DiffModified})
		}
		return d, nil
	}
	answer, err := k.sessions.Diff(k.ctx, k.user.UserID, task.ID)
	k.must(err)
	if content := string(answer.Message.Artifacts[0].Content); len(content) > 1<<20 ||
		!strings.Contains(content, `"patch":"diff --git a/x b/x\n+x\n","truncated":true,"total":{"files":5002,"additions":1,"deletions":0}}`) {
		t.Errorf("%d bytes, ends %s", len(content), content[len(content)-100:])
	}
}

func TestARefusedDiffIsExplained(t *testing.T) {
	t.Parallel()
	absent := protocol.Errorf(protocol.CodeNotFound, "Session not found")
	for name, c := range map[string]struct {
		events, turns bool
		err           error
		want          string
	}{
		"no session yet": {
			err:  absent,
			want: `{'code':'conflict','error':'The agent host has no session of this task','hint':'Send a message first: the diff is against what the session began with'}`,
		},
		"a host that lost it": {
			events: true, turns: true, err: absent,
			want: `{'code':'conflict','error':'The agent host has no session of this task','hint':'Send a message first: the diff is against what the session began with'}`,
		},
		"a host without the route": {
			events: true, turns: true, err: protocol.Errorf(protocol.CodeMethodNotAllowed, "x"),
			want: `{'code':'bad_gateway','error':'The agent host makes no diffs',` +
				`'hint':'Only hosts with the capability diff do'}`,
		},
		"a basic host": {turns: true, err: absent, want: `null`},
		"a basic host without the route": {
			turns: true, err: protocol.Errorf(protocol.CodeMethodNotAllowed, "x"),
			want: `null`,
		},
		"the host's own words": {
			err: &protocol.Error{
				Code: protocol.CodeConflict, Message: "There is nothing to compare with", Hint: "Begin another",
			},
			want: `{'code':'conflict','error':'There is nothing to compare with','hint':'Begin another'}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			if !c.events {
				k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
					return &protocol.OpenSessionResponse{Token: "t"}, nil
				}
			}
			task := k.task()
			if c.turns {
				sent := k.checkIn(task.ID, "go")
				k.mustSend(task.ID, sent.TurnID, `{'type':'text','id':'t','text':'x','timestamp':1}`)
			}
			k.host.onDiff = func() (*protocol.Diff, error) { return nil, c.err }
			answer, err := k.sessions.Diff(k.ctx, k.user.UserID, task.ID)
			same(t, fault(err), c.want)
			if err == nil {
				same(t, answer, `{'success':true,'noDiffs':true}`)
			}
		})
	}
	k := newKit(t)
	task := k.task()
	guest := k.newUser("guest@example.org", false)
	_, err := k.sessions.Diff(k.ctx, guest.UserID, task.ID)
	same(t, fault(err), `{'code':'not_found','error':'Task not found'}`)
	chat, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x", Mode: protocol.ModeChat})
	k.must(err)
	_, err = k.sessions.Diff(k.ctx, k.user.UserID, chat.ID)
	same(t, fault(err), `{'code':'invalid','error':'Task is not in agent mode'}`)
}

var _ broker.Link = (*fakeHost)(nil)
