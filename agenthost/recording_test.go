package agenthost_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/core"
	"bellhop/agenthost/recording"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// recordedRig is a rig whose hosts write a recording and whose journal keeps a copy of
// every write.
type recordedRig struct {
	*rig
	path string

	mu     sync.Mutex
	writes []string // as comparable writes them
	refuse bool     // the journal refuses the next write
}

const recordedSecret = "sk-recorded-12345"

func newRecordedRig(t *testing.T) *recordedRig {
	t.Helper()
	r := &recordedRig{rig: newRig(t), path: filepath.Join(t.TempDir(), "recording.jsonl")}
	r.options = func(o *agenthost.Options) {
		writer, err := recording.Create(recording.Options{Path: r.path, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = writer.Close() })
		o.Record = writer.Record
		o.LocalURL = "http://127.0.0.1:1"
		o.Secrets = func(string) []string { return []string{recordedSecret} }
		o.Journal = &watchedJournal{Journal: o.Journal, before: func(w *agenthost.Write) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.refuse {
				r.refuse = false
				return protocol.Errorf(protocol.CodeStorageFull, "the disk is full")
			}
			r.writes = append(r.writes, comparable(t, w))
			return nil
		}}
	}
	return r
}

// comparable writes rows as JSON, without what a recording leaves out: the query of the
// webhook's address and the workspace's secret.
func comparable(t *testing.T, w *agenthost.Write) string {
	t.Helper()
	rows := *w
	if rows.Session != nil {
		session := *rows.Session
		session.WebhookURL, _, _ = strings.Cut(session.WebhookURL, "?")
		session.Secret = ""
		rows.Session = &session
	}
	raw, err := json.Marshal(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// replayed are the rows and frames of a recording's steps.
type replayed struct {
	writes []string
	frames []string
	errors []string
	last   core.State
}

func (r *recordedRig) replay() replayed {
	r.Helper()
	var out replayed
	var replay recording.Replay
	for entry, err := range recording.Read(r.path) {
		if err != nil {
			r.Fatal(err)
		}
		result, isInput := replay.Apply(entry)
		if !isInput {
			continue
		}
		if result.Missing || result.Differs != "" {
			r.Errorf("line %d, %s: missing %v, %s", result.Line, core.Kind(result.Input.Input), result.Missing, result.Differs)
		}
		if result.Input.Error != "" {
			out.errors = append(out.errors, result.Input.Error)
		}
		out.last = result.After
		if result.Step == nil {
			continue
		}
		if w := &result.Step.Rows; w.Session != nil || w.DropSession {
			out.writes = append(out.writes, comparable(r.T, w))
		}
		for _, f := range result.Step.Frames {
			out.frames = append(out.frames, string(stream.Encode(f.ID.String(), f.Part)))
		}
	}
	return out
}

// follow collects all frames of a session until its host ends.
func (r *recordedRig) follow(session string) (frames func() []string) {
	r.Helper()
	reader := r.attach(session, "", true)
	done := make(chan []string, 1)
	go func() {
		var got []string
		for {
			data, err := reader.Live.Next(r.Context())
			if err != nil {
				done <- got
				return
			}
			got = append(got, string(data))
		}
	}()
	return func() []string { return <-done }
}

// A turn with a permission, an interrupt, a write that failed and a restart: the replay
// has every row and every frame of the host, byte for byte.
func TestARecordedRunReplays(t *testing.T) {
	t.Parallel()
	r := newRecordedRig(t)
	r.start()
	prompt := "use " + recordedSecret
	sum := sha256.Sum256([]byte(prompt))
	opened := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url() + "?token=webhook-secret", BrokerID: "broker-1", NamedAnswers: true,
		Cursor: r.broker.cursorOf("s1"), Turn: &protocol.AnnouncedTurn{ID: "t1", PromptSHA256: hex.EncodeToString(sum[:])},
	})
	frames := r.follow("s1")
	r.agent.script(reason("hm"), writeText("key "+recordedSecret), callTool("c1", "rm", `{"path":"."}`),
		confirm("c1", "rm"), writeText("done"))
	reader, err := r.host.Start(t.Context(), r.grant("s1", opened.Token), &protocol.PromptRequest{Prompt: prompt})
	if err != nil {
		t.Fatal(err)
	}
	asked := r.untilPart(reader, "tool-approval-request")
	if err := r.host.Answer(t.Context(), "s1", asked.part.ApprovalID,
		&protocol.AnswerRequest{Approved: yes()}); err != nil {
		t.Fatal(err)
	}
	r.read(reader)
	r.delivered()

	waiting := r.startNew("s1", "t2", writeText("half"), forever)
	r.readN(waiting, 2)
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	r.read(waiting)
	r.delivered()

	r.mu.Lock()
	r.refuse = true
	r.mu.Unlock()
	request := &protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: r.broker.cursorOf("s1"),
	}
	if _, err := r.host.Open(t.Context(), request, agenthost.Keys{}); protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Fatalf("a full disk: %v", err)
	}

	crashed := r.startNew("s1", "t3", callTool("c2", "ls", `{}`), writeText("lost"), forever)
	r.readN(crashed, 3)
	data := r.crash() // in the copy the turn is open; the host that was copied continues and ends it
	want := frames()
	r.open(data)
	r.run()
	after := r.follow("s1")
	r.turn("s1", "t4", writeText("again"))
	r.delivered()
	r.stop()
	want = append(want, after()...)

	got := r.replay()
	wantLines(t, "rows", got.writes, r.writes)
	if recovered := slices.IndexFunc(got.frames, func(f string) bool {
		return strings.Contains(f, `"turnId":"t3"`) && strings.Contains(f, `host-restarted`)
	}); recovered < 0 {
		t.Error("no frame ends the turn of the crash")
	}
	// The second host ends the lost turn before a reader can come.
	live := slices.DeleteFunc(slices.Clone(got.frames), func(f string) bool { return !slices.Contains(want, f) })
	wantLines(t, "frames", live, want)
	if n := len(got.frames) - len(want); n > 2 {
		t.Errorf("%d frames that no reader had", n)
	}
	wantLines(t, "errors", got.errors, []string{"the disk is full"})
	if at := r.broker.cursorOf("s1"); got.last.Record.Acked != *at {
		t.Errorf("the replay ends at %v, the broker at %v", got.last.Record.Acked, *at)
	}
	raw, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{recordedSecret, "webhook-secret", "bhw_"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("%q is in the recording", secret)
		}
	}
}

// A recording that cannot be written ends, and the host continues.
func TestAHostOutlivesItsRecording(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		writer, err := recording.Create(recording.Options{Path: filepath.Join(t.TempDir(), "recording.jsonl")})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(writer.Close(), writer.Close()); err != nil {
			t.Fatal(err)
		}
		o.Record = writer.Record
	}
	r.start()
	if got := r.turn("s1", "t1", writeText("x")); got[len(got)-1].part.Type != "finish" {
		t.Errorf("the last frame: %s", got[len(got)-1].json)
	}
}
