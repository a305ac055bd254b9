package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/archive"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/schema"
	"bellhop/notebook"
	bookstore "bellhop/notebook/store"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

const email = "ada@example.org"

var start = time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC)

// installation is a database with one user.
type installation struct {
	*testing.T
	db     *database.DB
	sealer *seal.Sealer
	store  *store.Store
	books  *bookstore.Store
	user   string
}

func install(t *testing.T, url string) *installation {
	db := schema.Open(t, url, database.PoolerNone)
	sealer := storetest.Sealer(t)
	in := &installation{
		T: t, db: db, sealer: sealer, store: store.New(db, sealer), books: bookstore.New(db), user: protocol.NewID(),
	}
	in.must(in.store.CreateUser(t.Context(), &broker.User{ID: in.user, Email: email, CreatedAt: start}))
	return in
}

func (in *installation) must(err error) {
	in.Helper()
	testenv.Must(in, err)
}

func (in *installation) options() archive.Options {
	return archive.Options{DB: in.db, Schema: 22, Version: "test", Now: start}
}

func (in *installation) export() (string, error) {
	var out bytes.Buffer
	_, err := archive.Export(in.Context(), in.options(), []archive.User{{ID: in.user, Email: email}}, &out)
	return out.String(), err
}

func (in *installation) importing(file string) (archive.Counts, error) {
	users := func(ctx context.Context, address string) (string, error) {
		user, err := in.store.UserByEmail(ctx, address)
		if err != nil {
			return "", err
		}
		return user.ID, nil
	}
	return archive.Import(in.Context(), archive.Target{Options: in.options(), Sealer: in.sealer, Users: users},
		strings.NewReader(file))
}

// task creates a task with a turn, an event with a text, a tool use, a question and a queued message.
func (in *installation) task(title string, state broker.TurnState) *broker.Task {
	in.Helper()
	task := &broker.Task{
		ID: protocol.NewID(), UserID: in.user, Title: title, Mode: protocol.ModeAgent, AgentStatus: protocol.StatusIdle,
		Agent: "demo", AgentURL: "http://agent", AgentPassword: seal.NewSecret("password"),
		WebhookSecret: seal.NewSecret("webhook-secret"), CreatedAt: start, LastActivityAt: start, ChangedAt: start,
	}
	in.must(in.store.CreateTask(in.Context(), task))
	in.must(in.store.Write(in.Context(), func(ctx context.Context) error {
		locked, err := in.store.LockTask(ctx, task.ID)
		if err != nil {
			return err
		}
		const answer = "Bücher \u2028 <b>"
		body, _ := json.Marshal(map[string]any{
			"type": "text", "id": "x", "timestamp": 1, "text": answer, "format": "markdown",
		})
		locked.Rev, locked.LastSeq, locked.Cursor = 3, 2, protocol.Cursor{Epoch: 1, Seq: 7}
		locked.LastTurn = &protocol.LastTurn{ID: "turn", FinishReason: "stop"}
		message := func(seq int64, role protocol.Role, text, event string) broker.Message {
			return broker.Message{Message: protocol.Message{
				ID: protocol.NewID(), Seq: seq, Rev: seq, TaskID: task.ID, TurnID: "turn", Role: role, Status: protocol.MessageSent,
				Message: text, EventID: event, CreatedAt: start.Add(time.Duration(seq) * time.Second),
			}}
		}
		return in.store.Apply(ctx, &broker.Batch{
			Task: locked,
			Events: []broker.StoredEvent{{
				TaskID: task.ID, EventID: "event", Epoch: 1, Seq: 7, TurnID: "turn", Type: protocol.EventText,
				Body: body, ReceivedAt: start,
			}},
			NewMessages: []broker.Message{
				message(1, protocol.RoleUser, "hello", ""), message(2, protocol.RoleAssistant, answer, "event"),
			},
			Turns: []broker.Turn{
				{ID: "turn", TaskID: task.ID, State: state, FinishReason: "stop", AnnouncedAt: start, FinishedAt: &start},
			},
			Interactions: []broker.Interaction{
				{TaskID: task.ID, ID: "question", TurnID: "turn", State: protocol.InteractionResolved, CreatedAt: start},
			},
			Changes: []broker.ChangeRef{
				{Rev: 1, Kind: broker.ChangeMessage, Seq: 1},
				{Rev: 2, Kind: broker.ChangeMessage, Seq: 2},
				{Rev: 3, Kind: broker.ChangeTask},
			},
		})
	}))
	return task
}

func (in *installation) notebook() {
	in.Helper()
	ctx, session, book, source := in.Context(), protocol.NewID(), protocol.NewID(), protocol.NewID()
	in.must(in.books.InsertSession(ctx, &notebook.Session{
		ID: session, UserID: in.user, AgentName: "Agent", AgentIdentifier: "agent", WebhookURL: "https://hook.example",
		EndpointID: "endpoint", ChangedAt: start, LastActivity: start, CreatedAt: start,
	}))
	_, err := in.books.InsertNotebook(ctx, &notebook.Notebook{
		ID: book, UserID: in.user, SessionID: session, Title: "Book", CreatedAt: start,
	})
	in.must(err)
	in.must(in.books.InsertSource(ctx, &notebook.Source{
		ID: source, UserID: in.user, NotebookID: book, SessionID: session, Title: "Sort", Language: "go", Version: 1,
		LastSeq: 1, CreatedAt: start,
	}))
	in.must(in.books.InsertVersion(ctx, &notebook.Version{
		SourceID: source, Number: 1, Code: "package a\n", Author: "agent", CreatedAt: start,
	}))
	in.must(in.books.InsertMessage(ctx, &notebook.Message{
		ID: protocol.NewID(), SourceID: source, Seq: 1, Role: protocol.FollowupUser, Content: "Why?",
		State: notebook.Pending, CreatedAt: start,
	}))
}

// What one database exports, the other exports after the import, to the letter.
func TestArchivesMoveBetweenDatabases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to func(testing.TB) string
	}{
		{"SQLite to PostgreSQL", schema.SQLite, schema.Postgres}, {"PostgreSQL to SQLite", schema.Postgres, schema.SQLite},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := install(t, c.from(t)), install(t, c.to(t))
			first, second := from.task("first", broker.TurnClosed), from.task("second", broker.TurnClosed)
			from.notebook()
			to.task("of before", broker.TurnClosed)
			before, err := to.export()
			to.must(err)
			file, err := from.export()
			from.must(err)
			counts, err := to.importing(file)
			to.must(err)
			if counts != (archive.Counts{Users: 1, Tasks: 2, Sources: 1, Rows: 2*7 + 5}) {
				t.Errorf("%+v\n%s", counts, file)
			}
			after, err := to.export()
			to.must(err)
			for line := range strings.Lines(file) {
				if !strings.Contains(line, `"end"`) && !strings.Contains(after, line) {
					t.Errorf("lost: %s", line)
				}
			}
			if got, want := strings.Count(after, "\n"), strings.Count(file+before, "\n")-3; got != want {
				t.Errorf("%d lines, want %d", got, want)
			}
			for _, task := range []*broker.Task{first, second} {
				checkTask(t, to, task)
			}
			checkLists(t, to, first.ID, second.ID)
		})
	}
}

// The columns that the new database makes itself are there: search, lists by state and by time find the rows.
func checkLists(t *testing.T, in *installation, imported ...string) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = in.store.IndexStep(t.Context())
		in.must(err)
	}
	for what, filter := range map[string]broker.TaskFilter{
		"all": {}, "a text of a message": {Q: "bücher"}, "a title": {Q: "first"},
	} {
		filter.Limit = 10
		found, err := in.store.Tasks(t.Context(), in.user, filter)
		in.must(err)
		var ids []string
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		want := len(imported) + 1
		if what == "a title" {
			want = 1
		}
		if len(ids) != want || !slices.Contains(ids, imported[0]) {
			t.Errorf("%s: %q, want %d with %q", what, ids, want, imported[0])
		}
	}
	questions, err := in.store.Interactions(t.Context(), in.user, string(protocol.InteractionResolved), 10)
	in.must(err)
	if len(questions) != len(imported)+1 {
		t.Errorf("%d questions of the user", len(questions))
	}
}

// The task works in its new installation: it has its messages, and a webhook secret of its own.
func checkTask(t *testing.T, in *installation, old *broker.Task) {
	t.Helper()
	task, err := in.store.Task(t.Context(), in.user, old.ID)
	in.must(err)
	if task.Title != old.Title || task.HostID != "" || task.Cursor != (protocol.Cursor{Epoch: 1, Seq: 7}) ||
		!task.CreatedAt.Equal(start) {
		t.Errorf("task %+v", task)
	}
	messages, err := in.store.Messages(t.Context(), task.ID, broker.MessageQuery{Limit: 10})
	in.must(err)
	if len(messages) != 2 || messages[1].Message.Message != "Bücher \u2028 <b>" || messages[1].Format != "markdown" {
		t.Errorf("messages %+v", messages)
	}
	key, err := in.store.WebhookSecret(t.Context(), task.ID)
	in.must(err)
	if key.Reveal() == "webhook-secret" || len(key.Reveal()) != 64 {
		t.Errorf("secret %q", key.Reveal())
	}
	passwords, err := in.store.TaskPasswords(t.Context(), task.ID, start)
	in.must(err)
	if len(passwords) != 0 {
		t.Error("the agent's password was copied")
	}
}

func TestArchivesHoldNoSecrets(t *testing.T) {
	t.Parallel()
	in := install(t, schema.SQLite(t))
	in.task("x", broker.TurnClosed)
	in.notebook()
	file, err := in.export()
	in.must(err)
	for _, no := range []string{"secret", "password", "hook.example", "endpoint\"", in.user} {
		if strings.Contains(file, no) {
			t.Errorf("the archive has %q:\n%s", no, file)
		}
	}
}

func TestAnOpenTurnIsNotExported(t *testing.T) {
	t.Parallel()
	in := install(t, schema.SQLite(t))
	in.task("x", broker.TurnOpen)
	_, err := in.export()
	testenv.WantCode(t, err, protocol.CodeConflict)
}

// A file that is not whole, not ours or not of this version changes nothing.
func TestABadArchiveChangesNothing(t *testing.T) {
	t.Parallel()
	from := install(t, schema.SQLite(t))
	from.task("x", broker.TurnClosed)
	from.notebook()
	good, err := from.export()
	from.must(err)
	lines := strings.SplitAfter(strings.TrimSpace(good), "\n")
	replaced := func(old, by string) string { return strings.Replace(good, old, by, 1) }
	for name, c := range map[string]struct {
		file string
		code protocol.Code
	}{
		"empty":             {"", protocol.CodeInvalid},
		"another file":      {"PK\x03\x04\n", protocol.CodeInvalid},
		"no header":         {strings.Join(lines[1:], ""), protocol.CodeInvalid},
		"without its end":   {strings.Join(lines[:len(lines)-1], ""), protocol.CodeInvalid},
		"a row is missing":  {strings.Join(append(lines[:3:3], lines[4:]...), ""), protocol.CodeInvalid},
		"a changed letter":  {replaced("Bücher", "Bacher"), protocol.CodeInvalid},
		"more after it":     {good + "{}\n", protocol.CodeInvalid},
		"another version":   {replaced(`"schema":22`, `"schema":21`), protocol.CodeInvalid},
		"another format":    {replaced(`"format":1`, `"format":2`), protocol.CodeInvalid},
		"an unknown user":   {forged(good, email, "eve@example.org"), protocol.CodeNotFound},
		"an unknown table":  {forged(good, `"table":"turns"`, `"table":"users"`), protocol.CodeInvalid},
		"an unknown column": {forged(good, `"message_id"`, `"message_ix"`), protocol.CodeInvalid},
		"a wrong type":      {forged(good, `"archived":false`, `"archived":"no"`), protocol.CodeInvalid},
		"a task of another": {
			forged(good, `"row":{"agent":"demo"`, `"row":{"user_id":"x","agent":"demo"`), protocol.CodeInvalid,
		},
		"rows of no user": {forged(good, `{"user":"`+email+`"}`+"\n", ""), protocol.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			to := install(t, schema.SQLite(t))
			_, err := to.importing(c.file)
			testenv.WantCode(t, err, c.code)
			to.wantRows(0)
		})
	}
	to := install(t, schema.SQLite(t))
	_, err = to.importing(good)
	to.must(err)
	to.wantRows(1)
	_, err = to.importing(good)
	testenv.WantCode(t, err, protocol.CodeConflict)
	to.wantRows(1)
}

// forged returns an archive with a changed row and the checksum of its new content.
func forged(file, old, by string) string {
	if !strings.Contains(file, old) {
		panic(fmt.Sprintf("the archive has no %s", old))
	}
	return archive.Seal(strings.Replace(file, old, by, 1))
}

func (in *installation) wantRows(tasks int) {
	in.Helper()
	var n, books int
	in.must(in.db.Conn(in.Context()).Raw(`SELECT count(*) FROM tasks`).Row().Scan(&n))
	in.must(in.db.Conn(in.Context()).Raw(`SELECT count(*) FROM notebooks`).Row().Scan(&books))
	if n != tasks || books != tasks {
		in.Errorf("%d tasks, %d notebooks; want %d", n, books, tasks)
	}
}
