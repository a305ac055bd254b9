package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, int(250*time.Millisecond), time.UTC)

func opened(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func session(id string, seq int64) *agenthost.SessionRecord {
	return &agenthost.SessionRecord{
		ID: id, BrokerID: "b", NamedAnswers: true, WebhookURL: "http://x/?token=y", Basic: true, Agent: "a", Project: "p", Model: "m",
		AgentSessionID: "n", Dir: "/w", Secret: "bhw_s", Cursor: protocol.Cursor{Epoch: 1, Seq: seq},
		Acked: protocol.Cursor{Epoch: 1, Seq: 1}, OffsetReserved: 4097, Status: protocol.StatusIdle, Reason: "waiting",
		Remembered: []string{"rm"}, Outbox: agenthost.OutboxOK, OutboxError: "e", CreatedAt: noon, ActiveAt: noon,
	}
}

func event(id string, seq int64) agenthost.EventRecord {
	return agenthost.EventRecord{
		SessionID: id, Cursor: protocol.Cursor{Epoch: 1, Seq: seq}, EventID: fmt.Sprint("e", seq), TurnID: "t1",
		Type: protocol.EventText, Body: []byte(fmt.Sprintf(`{"seq":%d}`, seq)),
		Frame: protocol.StreamID{Epoch: 1, Offset: seq * 10}, Part: []byte("part"),
	}
}

func write(t *testing.T, j *Journal, w *agenthost.Write) {
	t.Helper()
	if err := j.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

func want[T any](t *testing.T, what string, got, want T, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v\n got  %+v\n want %+v", what, err, got, want)
	}
}

func TestWritesAreReadAlsoAfterAReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := Open(dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	open1 := agenthost.TurnRecord{
		SessionID: "s", ID: "t1", State: agenthost.TurnOpen, PromptSHA256: "ab", Announced: noon, Expires: noon,
		Started: noon, FirstOffset: 1,
	}
	done := agenthost.TurnRecord{
		SessionID: "s", ID: "t0", State: agenthost.TurnFinished, Announced: noon, Started: noon, Finished: noon,
		FinishReason: "stop", Reason: "r", LastID: protocol.StreamID{Epoch: 1, Offset: 9},
	}
	question := agenthost.InteractionRecord{
		SessionID: "s", ID: "i1", TurnID: "t1", Kind: protocol.KindConfirm, State: protocol.InteractionOpen,
		Question: protocol.Event{Prompt: "Run?", Args: []byte(`{"a":1}`)}, ExpiresAt: noon, CreatedAt: noon,
	}
	answered := question
	answered.ID, answered.State, answered.Answer = "i0", protocol.InteractionResolved,
		&protocol.InteractionAnswer{Approved: &yes, Reason: "r"}
	token := agenthost.TokenRecord{Hash: []byte{1, 2}, SessionID: "s", TurnID: "t1", Attach: true, ExpiresAt: noon}
	letter := agenthost.DeadLetter{
		SessionID: "s", Cursor: protocol.Cursor{Epoch: 1, Seq: 2}, EventID: "e", Reason: "400", Body: "{}", At: noon,
	}
	write(t, j, &agenthost.Write{
		SessionID: "s", Session: session("s", 3), Turns: []agenthost.TurnRecord{open1, done},
		Prompts:      []agenthost.PromptRecord{{SessionID: "s", TurnID: "t1", Text: "go"}},
		Interactions: []agenthost.InteractionRecord{question, answered}, Tokens: []agenthost.TokenRecord{token},
		DeadLetters: []agenthost.DeadLetter{letter},
		Events:      []agenthost.EventRecord{event("s", 1), event("s", 2), event("s", 3)},
	})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = opened(t, dir)
	ctx := t.Context()
	loaded, err := j.Load(ctx)
	want(t, "load", loaded, []agenthost.Loaded{{
		Session: *session("s", 3), Turns: []agenthost.TurnRecord{open1},
		Interactions: []agenthost.InteractionRecord{question}, LastFrame: protocol.StreamID{Epoch: 1, Offset: 9},
		Pending: 2,
	}}, err)
	turn, err := j.Turn(ctx, "s", "t0")
	want(t, "turn", turn, &done, err)
	turns, err := j.TurnsFrom(ctx, "s", 0)
	want(t, "turns from 0", turns, []agenthost.TurnRecord{done, open1}, err)
	turns, err = j.TurnsFrom(ctx, "s", -1)
	want(t, "the newest turn", turns, []agenthost.TurnRecord{open1}, err)
	interaction, err := j.Interaction(ctx, "s", "i0")
	want(t, "interaction", interaction, &answered, err)
	found, err := j.Token(ctx, []byte{1, 2})
	want(t, "token", found, &token, err)
	letters, err := j.DeadLetters(ctx, 5)
	want(t, "dead letters", letters, []agenthost.DeadLetter{letter}, err)
	events, err := j.Events(ctx, "s", 1, 1, 1)
	want(t, "events", events, []agenthost.EventRecord{event("s", 2)}, err)
	events, err = j.Pending(ctx, "s", protocol.Cursor{Epoch: 0, Seq: 99}, -1)
	want(t, "pending", events, []agenthost.EventRecord{event("s", 1), event("s", 2), event("s", 3)}, err)
	events, err = j.Newest(ctx, "s", protocol.Cursor{Epoch: 1, Seq: 3}, 5)
	want(t, "newest", events, []agenthost.EventRecord{event("s", 2), event("s", 1)}, err)
	events, err = j.Newest(ctx, "s", protocol.Cursor{Epoch: 2}, 1)
	want(t, "the newest one", events, []agenthost.EventRecord{event("s", 3)}, err)
	prompt, err := j.Prompt(ctx, "s", "t1")
	want(t, "prompt", prompt, "go", err)
	prompt, err = j.Prompt(ctx, "s", "t0")
	want(t, "a prompt that was not kept", prompt, "", err)
	n, err := j.CountPending(ctx, "s", protocol.Cursor{Epoch: 1, Seq: 2})
	want(t, "count", n, 1, err)
	for what, err := range map[string]error{
		"turn": second(j.Turn(ctx, "s", "x")), "interaction": second(j.Interaction(ctx, "s", "x")),
	} {
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if protocol.CodeOf(second(j.Token(ctx, []byte("x")))) != protocol.CodeUnauthorized {
		t.Error("an unknown token")
	}
	info, err := os.Stat(filepath.Join(dir, "journal.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	write(t, j, &agenthost.Write{SessionID: "s", DropSession: true})
	if loaded, err := j.Load(ctx); err != nil || len(loaded) != 0 {
		t.Errorf("after the end: %+v, %v", loaded, err)
	}
	prompt, err = j.Prompt(ctx, "s", "t1")
	want(t, "its prompts", prompt, "", err)
}

func TestTokensOfACredentialAreDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := opened(t, dir)
	issued := func(sessionID, hash, credential string) agenthost.TokenRecord {
		return agenthost.TokenRecord{
			Hash: []byte(hash), SessionID: sessionID, ExpiresAt: noon.Truncate(time.Millisecond), Credential: credential,
		}
	}
	tokens := []agenthost.TokenRecord{issued("s", "1", "laptop"), issued("s", "2", "phone"), issued("s", "3", "")}
	write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 1), Tokens: tokens})
	other := session("o", 1)
	other.BrokerID = "another"
	theirs := issued("o", "4", "laptop")
	write(t, j, &agenthost.Write{SessionID: "o", Session: other, Tokens: []agenthost.TokenRecord{theirs}})
	for range 2 {
		if err := j.DropTokens(t.Context(), "b", "laptop"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Token(t.Context(), []byte("1")); protocol.CodeOf(err) != protocol.CodeUnauthorized {
		t.Errorf("the dropped token: %v", err)
	}
	for _, kept := range []agenthost.TokenRecord{tokens[1], tokens[2], theirs} {
		got, err := j.Token(t.Context(), kept.Hash)
		if err != nil || got.Credential != kept.Credential || got.SessionID != kept.SessionID {
			t.Errorf("token %s: %+v, %v", kept.Hash, got, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAWriteIsAtomic(t *testing.T) {
	t.Parallel()
	j := opened(t, t.TempDir())
	write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 1), Events: []agenthost.EventRecord{event("s", 1)}})
	err := j.Write(t.Context(), &agenthost.Write{
		SessionID: "s", Session: session("s", 2), Events: []agenthost.EventRecord{event("s", 2), event("s", 1)},
	})
	if !errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		t.Errorf("a known position: %v", err)
	}
	loaded, err := j.Load(t.Context())
	if err != nil || loaded[0].Session.Cursor.Seq != 1 {
		t.Errorf("after it: %+v, %v", loaded, err)
	}
}

// While one commit is blocked, writers queue; an invalid one among them fails
// alone.
func TestWritersShareACommitAndFailAlone(t *testing.T) {
	t.Parallel()
	j := opened(t, t.TempDir())
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = j.exec(context.Background(), func(*sqlite3.Conn) error { close(entered); <-release; return nil })
	})
	<-entered
	errs := make([]error, 100)
	for i := range errs {
		wg.Go(func() {
			id := fmt.Sprint("s", i)
			events := []agenthost.EventRecord{event(id, 1), event(id, 2)}
			if i%10 == 0 {
				events = append(events, event(id, 1))
			}
			errs[i] = j.Write(context.Background(), &agenthost.Write{SessionID: id, Session: session(id, 2), Events: events})
		})
	}
	for len(j.requests) < len(errs) {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	for i, err := range errs {
		if bad := i%10 == 0; bad != (err != nil) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	loaded, err := j.Load(t.Context())
	if err != nil || len(loaded) != 90 {
		t.Errorf("%d sessions, %v", len(loaded), err)
	}
}

func TestAClosedJournalRefuses(t *testing.T) {
	t.Parallel()
	j := opened(t, t.TempDir())
	if err := errors.Join(j.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	if err := j.Write(t.Context(), &agenthost.Write{SessionID: "s"}); !errors.Is(err, errClosed) {
		t.Errorf("write: %v", err)
	}
}

func TestASecondHostOnTheSameDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened(t, dir)
	if _, err := Open(dir, noon); err == nil || !strings.Contains(err.Error(), "in use by another agent host") {
		t.Errorf("opened: %v", err)
	}
}

func TestAnIDStaysWithTheJournalAndItsCopies(t *testing.T) {
	t.Parallel()
	dir, copied := t.TempDir(), t.TempDir()
	first := opened(t, dir)
	id := first.ID()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, fileName), body, 0o600); err != nil {
		t.Fatal(err)
	}
	again, twin, other := opened(t, dir), opened(t, copied), opened(t, t.TempDir())
	if len(id) != 8 || again.ID() != id || twin.ID() != id || other.ID() == id {
		t.Errorf("%s, then %s; of the copy %s, of another journal %s", id, again.ID(), twin.ID(), other.ID())
	}
}
