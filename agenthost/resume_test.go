package agenthost_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func bodies(frames []frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = f.id + " " + f.json
	}
	return out
}

func resumeOf(t *testing.T, f frame) protocol.Resume {
	t.Helper()
	var out protocol.Resume
	if f.part.Type != protocol.PartDataResume || f.id != "" {
		t.Fatalf("the first frame is %q %s", f.id, f.json)
	}
	if err := json.Unmarshal(f.part.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *rig) attach(session, cursor string, follow bool) *agenthost.Stream {
	r.Helper()
	stream, err := r.host.Attach(r.Context(), session, cursor, follow)
	if err != nil {
		r.Fatalf("attach at %q: %v", cursor, err)
	}
	return stream
}

func TestAttachingWithoutACursor(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	gate := make(chan struct{})
	stream := r.startNew("s1", "t1", writeText("a"), writeText("b"), wait(gate))
	first := r.readN(stream, 3)
	attached := r.attach("s1", "", false)
	wantLines(t, "an open turn comes from its start", bodies(r.readN(attached, 3)), bodies(first))
	close(gate)
	wantLines(t, "then live", bodies(r.read(attached)), bodies(r.read(stream)))
	if got := r.attach("s1", "", false); got != nil {
		t.Errorf("idle: %v", got)
	}
	follow := r.attach("s1", "", true)
	all := r.turn("s1", "t2", writeText("c"))
	wantLines(t, "follow goes on with the next turn", bodies(r.readN(follow, len(all))), bodies(all))
	follow.Close()
}

func TestResumingAtEveryFrame(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	script := []step{writeText("a"), writeText("b"), callTool("c1", "ls", `{}`), toolResult("c1", `[]`), writeText("c")}
	all := r.turn("s1", "t1", script...)
	all = append(all, r.turn("s1", "t2", script...)...)
	for i, f := range all {
		stream := r.attach("s1", f.id, false)
		if i == len(all)-1 {
			if stream != nil {
				t.Errorf("at the end and idle: %v", r.read(stream))
			}
			continue
		}
		got := r.read(stream)
		result := resumeOf(t, got[0])
		want := protocol.Resume{Verdict: "ok", From: all[i+1].id, To: all[len(all)-1].id, OpenInteractions: []string{}}
		if fmt.Sprint(result) != fmt.Sprint(want) {
			t.Errorf("after %s: %+v, want %+v", f.id, result, want)
		}
		wantLines(t, "after "+f.id, bodies(got[1:]), bodies(all[i+1:]))
	}
}

// A cursor that names no frame never fails; it is a gap and the
// last turn is replayed.
func TestACursorThatNamesNoFrameIsAGap(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("old"))
	all := r.turn("s1", "t2", writeText("new"))
	other := r.turn("other", "o1", slices.Repeat([]step{writeText("x")}, 40)...)
	for name, cursor := range map[string]string{
		"text": "hello", "negative": "-1", "2^64": "1-18446744073709551616", "another epoch": "9-2", "the future": "1-4000",
		"10 KiB": strings.Repeat("7", 10<<10), "another session's": other[len(other)-1].id,
		"padded": "01-2", "a newline": "1-2\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := r.read(r.attach("s1", cursor, false))
			if v := resumeOf(t, got[0]); v.Verdict != "gap" || v.From != all[0].id || v.To != all[len(all)-1].id {
				t.Errorf("resume result %+v", v)
			}
			wantLines(t, "the last turn", bodies(got[1:]), bodies(all))
		})
	}
	r.openSession(&protocol.OpenSessionRequest{SessionID: "empty", WebhookURL: r.broker.url(), Attach: true})
	if got := r.read(r.attach("empty", "5-5", false)); len(got) != 1 || resumeOf(t, got[0]).Verdict != "gap" {
		t.Errorf("a session without turns: %v", got)
	}
}

func TestAnOldTurnIsRebuiltFromTheJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	script := []step{
		reason("hm"), writeText("a"), writeText("b"), callTool("c1", "ls", `{"x":1}`),
		toolResult("c1", `[]`), writeText("c"),
	}
	first := r.turn("s1", "t1", script...)
	second := r.turn("s1", "t2", writeText("2"))
	third := r.turn("s1", "t3", writeText("3"))
	got := r.read(r.attach("s1", first[1].id, false))
	if v := resumeOf(t, got[0]); v.Verdict != "gap" || v.From != first[6].id || v.To != third[len(third)-1].id {
		t.Errorf("resume result %+v", v)
	}
	var want []string
	// A rebuilt block has its whole text in one delta, and only its end has the id of a frame.
	add := func(id, text, end string) {
		want = append(want, fmt.Sprintf(` {"type":"text-start","id":%q}`, id),
			fmt.Sprintf(` {"type":"text-delta","id":%q,"text":%q}`, id, text), end)
	}
	lines := bodies(first)
	add(first[6].part.ID, "ab", lines[6])
	want = append(want, lines[7], lines[8])
	add(first[11].part.ID, "c", lines[11])
	want = append(want, lines[12])
	want = append(append(want, bodies(second)...), bodies(third)...)
	wantLines(t, "the cursor's turn and what followed", bodies(got[1:]), want)
}

// The host dies in mid-turn; the resume says so and the turn ends.
func TestResumingAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t0", writeText("before"))
	r.agent.script(callTool("c1", "rm", `{}`), writeText("half"), endText(""), callTool("c2", "rm", `{}`),
		writeText("lost"), confirm("c2", "rm"), forever)
	stream := r.startGrant(r.announce("s1", "t1"))
	r.untilPart(stream, "tool-approval-request")
	data := r.crash()
	r.open(data)
	r.run()

	live := r.attach("s1", idInEpoch1(9999), false)
	got := r.read(live)
	if resumeOf(t, got[0]).Verdict != "gap" {
		t.Errorf("verdict %s", got[0].json)
	}
	wantLines(t, "the turn and its end", types(got[1:]), []string{
		"tool-call", "text-start", "text-delta", "text-end", "tool-call", "text-start", "text-delta", "text-end",
		"tool-approval-request", "tool-approval-response", "tool-output-denied", "tool-error", "finish",
	})
	last := got[len(got)-1]
	if last.part.RawFinishReason != "host-restarted" || last.part.FinishReason != "other" {
		t.Errorf("the end: %s", last.json)
	}
	if r.attach("s1", last.id, false) != nil {
		t.Error("there is something after the end")
	}
	r.delivered()
	lines := withoutTimes(summary(r.broker.of("s1")), " status ")
	wantLines(t, "the end's events", lines[len(lines)-4:], []string{
		"t1 interaction confirm resolved host-restarted", "t1 tool-result c2 denied",
		"t1 tool-result c1", "t1 finish other host-restarted",
	})
}

func idInEpoch1(offset int64) string { return protocol.StreamID{Epoch: 1, Offset: offset}.String() }

// An idle session's newest id is still the newest after a restart.
func TestNothingIsNewerAfterAnIdleRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	all := r.turn("s1", "t1", writeText("x"))
	r.delivered()
	r.stop()
	r.start()
	if got := r.attach("s1", all[len(all)-1].id, false); got != nil {
		t.Errorf("got %v", bodies(r.read(got)))
	}
	next := r.turn("s1", "t2", writeText("y"))
	got := r.read(r.attach("s1", all[len(all)-1].id, false))
	if resumeOf(t, got[0]).Verdict != "ok" {
		t.Errorf("verdict %s", got[0].json)
	}
	wantLines(t, "the next turn", bodies(got[1:]), bodies(next))
}

func TestOffsetsAreNeverUsedTwiceAcrossRestarts(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	seen := map[string]string{}
	for i := range 4 {
		turn := fmt.Sprint("t", i)
		stream := r.startNew("s1", turn, writeText("x"), writeText(turn), forever)
		for _, f := range r.readN(stream, 3) {
			if old, ok := seen[f.id]; ok {
				t.Errorf("id %s was %s and is %s", f.id, old, f.json)
			}
			seen[f.id] = f.json
		}
		data := r.crash()
		r.open(data)
		r.run()
	}
}

// A reader is cut at random while frames leave the window and long
// blocks are split. Each resume continues after the reader's last frame or reports a gap.
func TestResumeIsExactOrHonest(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	rapid.Check(t, func(rt *rapid.T) {
		session := protocol.NewID()
		var script []step
		n := rapid.IntRange(1, 40).Draw(rt, "steps")
		for i := range n {
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				script = append(script, callTool(fmt.Sprint("c", i), "ls", `{}`),
					toolResult(fmt.Sprint("c", i), strconv.Quote(strings.Repeat("z", rapid.IntRange(0, 200<<10).Draw(rt, "size")))))
			case 1:
				script = append(script, reason("thinking "+fmt.Sprint(i)))
			case 2:
				script = append(script, endText(""))
			default:
				script = append(script, writeText(strings.Repeat("é", rapid.IntRange(1, 100<<10).Draw(rt, "length"))))
			}
		}
		r.agent.script(script...)
		stream := r.startGrant(r.announce(session, "t1"))
		reader := &resumer{rig: r, session: session, cut: func() bool { return rapid.IntRange(0, 4).Draw(rt, "cut") == 0 }}
		got := reader.all(stream)
		want := r.read(r.attach(session, "never", false))[1:]
		if a, b := meaning(got), meaning(want); !slices.Equal(a, b) {
			rt.Fatalf("read over %d resumes\n got  %.300q\n want %.300q", reader.resumes, a, b)
		}
	})
}

// resumer reads one turn as a client does: it cuts its stream at will, resumes, and
// drops what it has when it gets a gap.
type resumer struct {
	*rig
	session string
	cut     func() bool
	resumes int
}

func (c *resumer) all(stream *agenthost.Stream) []frame {
	var got []frame
	last := ""
	for stream != nil {
		f, ok := c.next(stream)
		switch {
		case !ok: // cut for being slow, or the end
			if len(got) > 0 && got[len(got)-1].part.Terminal() {
				return got
			}
			stream = c.reattach(stream, last)
			continue
		case f.part.Type == protocol.PartDataResume:
			if resumeOf(c.T, f).Verdict == protocol.ResumeGap {
				got = nil
			}
			continue
		}
		if f.id != "" {
			last = f.id
		}
		got = append(got, f)
		if f.part.Terminal() {
			break
		}
		if f.id != "" && c.cut() {
			stream = c.reattach(stream, last)
		}
	}
	stream.Close()
	return got
}

func (c *resumer) reattach(stream *agenthost.Stream, last string) *agenthost.Stream {
	stream.Close()
	c.resumes++
	if last == "" { // cut for being slow before its first frame, and the turn may be over by now
		last = "never"
	}
	return c.attach(c.session, last, false)
}

// meaning is what a client makes of frames: texts by block, completing parts
// byte for byte. The journal holds no reasoning, so a rebuilt turn lacks it.
func meaning(frames []frame) []string {
	var out []string
	texts := map[string]string{}
	for _, f := range frames {
		switch f.part.Type {
		case "text-start", "reasoning-start", "reasoning-delta", "reasoning-end":
		case "text-delta":
			texts[f.part.ID] += *f.part.Text
		case "text-end":
			out = append(out, f.id+" "+texts[f.part.ID]+f.json)
		default:
			out = append(out, f.id+" "+f.json)
		}
	}
	return out
}

func TestTheWindowIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	big := strconv.Quote(strings.Repeat("z", 200<<10))
	var script []step
	for i := range 40 {
		script = append(script, callTool(fmt.Sprint("c", i), "ls", `{}`), toolResult(fmt.Sprint("c", i), big))
	}
	gate := make(chan struct{})
	stream := r.startNew("s1", "t1", append(script, wait(gate))...)
	stream.Close()
	r.until("all calls are journaled", func() bool {
		got, err := r.host.Events(t.Context(), "s1", agenthost.EventsQuery{After: 80, Limit: 10})
		return err == nil && got.NextAfter == 81
	})
	attached := r.attach("s1", "", false)
	frames := r.readN(attached, 80)
	var held int
	for _, b := range attached.Backlog {
		held += len(b)
	}
	if held > 0 {
		t.Errorf("more than the turn's 80 parts: %d bytes", held)
	}
	for i, f := range frames {
		if want := []string{"tool-call", "tool-result"}[i%2]; f.part.Type != want ||
			f.part.ToolCallID != fmt.Sprint("c", i/2) {
			t.Fatalf("frame %d: %s of %s", i, f.part.Type, f.part.ToolCallID)
		}
	}
	got := r.readN(r.attach("s1", frames[0].id, false), 1)
	if v := resumeOf(t, got[0]); v.Verdict != "gap" {
		t.Errorf("a purged frame: %+v", v)
	}
	close(gate)
	r.read(attached)
}

func TestAJournalThatCannotBeReadIsNoEmptyStream(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("x"))
	r.stop()
	if stream, err := r.host.Attach(t.Context(), "s1", "never", false); err == nil {
		t.Errorf("got %v", stream)
	}
	if stream, err := r.host.Start(t.Context(), agenthost.Grant{SessionID: "s1", TurnID: "t1"},
		&protocol.PromptRequest{Prompt: "x"}); err == nil {
		t.Errorf("got %v", stream)
	}
}
