package notebook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"

	"bellhop/crypto/signature"
	"bellhop/notebook"
	"bellhop/notebook/store/storetest"
	"bellhop/protocol"
)

// property checks a rule on both databases. Every draw creates a user of its own.
func property(t *testing.T, rule func(t *rapid.T, d *fixture)) {
	t.Helper()
	storetest.Databases(t, func(t *testing.T, openBooks func(t testing.TB) *storetest.Books) {
		books := openBooks(t)
		rapid.Check(t, func(r *rapid.T) {
			d := open(t, books)
			d.t = failing{t, r}
			rule(r, d)
		})
	})
}

// failing reports failures to the draw, so that rapid can shrink it.
type failing struct {
	testing.TB
	r *rapid.T
}

func (f failing) Fatal(args ...any)                 { f.r.Fatal(args...) }
func (f failing) Errorf(format string, args ...any) { f.r.Errorf(format, args...) }

var (
	texts = rapid.StringOfN(rapid.RuneFrom([]rune("aZ09 <>&\"'\\\n\té世🦀\u2028")), 1, 60, -1).Filter(func(s string) bool {
		return strings.TrimSpace(s) != ""
	})
	codes = rapid.StringOfN(rapid.RuneFrom([]rune("ab{}();=\n\t<&é")), 1, 200, -1).Filter(func(s string) bool {
		return strings.TrimSpace(s) != ""
	})
	names = rapid.SampledFrom([]string{"claude-code", "cursor", "kiro", "aider", "ÄGENT 7"})
)

func TestNotebookCreationIsIdempotent(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		request := &notebook.CreateRequest{
			AgentName: texts.Draw(r, "name"), AgentIdentifier: names.Draw(r, "identifier"), Title: texts.Draw(r, "title"),
		}
		n := rapid.IntRange(1, 4).Draw(r, "at once")
		answers := make([]*notebook.CreateResponse, n)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				var err error
				if answers[i], err = d.Create(t.Context(), notebook.Caller{UserID: d.user}, request); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		again, err := d.Create(t.Context(), notebook.Caller{UserID: d.user}, request)
		must(d.t, err)
		created := 0
		for _, a := range answers {
			if a.Created {
				created++
			}
			if a.Notebook != again.Notebook || a.AgentSession.ID != again.AgentSession.ID {
				r.Errorf("%+v and %+v", a.Notebook, again.Notebook)
			}
		}
		list, err := d.Notebooks(t.Context(), d.user)
		must(d.t, err)
		if created != 1 || again.Created || len(list.Notebooks) != 1 || list.Notebooks[0] != again.Notebook ||
			!again.Notebook.IsAgentNotebook {
			r.Errorf("%d created, %+v", created, list.Notebooks)
		}
	})
}

func TestASourceKeepsItsNotebookAndContext(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		a := d.agent(names.Draw(r, "identifier"))
		request := &notebook.SaveRequest{
			NotebookID: a.notebook.ID, Title: texts.Draw(r, "title"), Code: codes.Draw(r, "code"), Language: "go",
			Context: texts.Draw(r, "context"), Metadata: map[string]any{"path": texts.Draw(r, "path")},
		}
		saved, err := d.Save(t.Context(), a.caller, request)
		must(d.t, err)
		want := protocol.Source{
			ID: saved.Source.ID, UserID: d.user, NotebookID: a.notebook.ID, Title: request.Title, Type: "code",
			Content: request.Code, Version: 1,
			Metadata: protocol.SourceMetadata{
				Language: "go", IsVerified: !strings.Contains(request.Code, "error"), AgentSessionID: a.session.ID,
				AgentName: a.session.AgentName, AgentStatus: protocol.AgentActive,
				OriginalContext: request.Context, Custom: request.Metadata,
			},
		}
		read, err := d.Source(t.Context(), d.user, saved.Source.ID)
		must(d.t, err)
		book, err := d.Notebook(t.Context(), d.user, a.notebook.ID)
		must(d.t, err)
		mine, err := d.AgentSources(t.Context(), a.caller, "")
		must(d.t, err)
		for _, got := range []protocol.Source{saved.Source, read.Source, book.Sources[0], mine.Sources[0]} {
			if v := got.Metadata.Verification; v == nil || (got.Metadata.VerifiedAt != nil) != (v.Verdict == protocol.Verified) {
				r.Errorf("no verification: %+v", got)
			}
			got.Metadata.Verification, got.Metadata.VerifiedAt = nil, nil
			if !sameJSON(d.t, got, want) {
				r.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	})
}

func TestAConversationGrowsByOneMessagePerRequest(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		a := d.agent("ada")
		source := a.save("x")
		type contents struct {
			role    protocol.FollowupRole
			content string
			at      time.Time
		}
		var want []contents
		var waiting []string
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			now := d.clock.Advance(time.Second)
			content := texts.Draw(r, "content")
			if len(waiting) > 0 && rapid.Bool().Draw(r, "answer") {
				_, err := a.respond(waiting[0], content, nil)
				must(d.t, err)
				waiting, want = waiting[1:], append(want, contents{protocol.FollowupAgent, content, now})
			} else {
				waiting = append(waiting, d.ask(source.ID, content).ID)
				want = append(want, contents{protocol.FollowupUser, content, now})
			}
			c := d.conversation(source.ID)
			var got []contents
			for _, m := range c.Messages {
				got = append(got, contents{m.Role, m.Content, m.Timestamp})
			}
			if !slices.Equal(got, want) || c.LastMessageAt == nil || !c.LastMessageAt.Equal(now) ||
				c.AgentSessionID != a.session.ID {
				r.Errorf("got  %+v\nwant %+v", got, want)
			}
			if open := a.poll(); len(open) != len(waiting) {
				r.Errorf("%d wait, want %d", len(open), len(waiting))
			}
		}
	})
}

func TestAWebhookBodyIsComplete(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		a := d.agent("ada")
		code := codes.Draw(r, "code")
		source := a.save(code)
		first := d.ask(source.ID, texts.Draw(r, "first"))
		_, err := a.respond(first.ID, texts.Draw(r, "answer"), nil)
		must(d.t, err)
		history := d.conversation(source.ID).Messages
		question := d.ask(source.ID, texts.Draw(r, "question"))
		raw, err := d.Render(t.Context(), d.user, question.ID)
		must(d.t, err)
		want := map[string]any{
			"type": "followup_message", "sourceId": source.ID, "sourceTitle": "a title", "sourceCode": code,
			"sourceLanguage": "go", "message": question.Content, "conversationHistory": history, "userId": d.user,
			"timestamp": question.Timestamp, "messageId": question.ID,
		}
		if !sameJSON(d.t, json.RawMessage(raw), want) {
			r.Errorf("got  %s\nwant %+v", raw, want)
		}
	})
}

func TestAWebhookSignatureCoversEveryBit(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		a := d.agent("ada")
		question := d.ask(a.save("x").ID, texts.Draw(r, "question"))
		body, err := d.Render(t.Context(), d.user, question.ID)
		must(d.t, err)
		secret := signature.Generate()
		key, err := signature.Parse(secret)
		must(d.t, err)
		header := http.Header{}
		must(d.t, signature.Sign(header, question.ID, time.Now(), body, key))
		official, err := webhooks.NewWebhook(secret.Reveal())
		must(d.t, err)
		if err := official.Verify(body, header); err != nil {
			r.Fatalf("a valid webhook is refused: %v", err)
		}
		part := rapid.SampledFrom([]string{"body", "id", "timestamp", "signature"}).Draw(r, "part")
		changedHeader, changedBody := header.Clone(), bytes.Clone(body)
		switch part {
		case "body":
			flip(r, changedBody)
		case "signature": // "v1," selects the algorithm, so changing it is another test
			name := signature.HeaderSignature
			value := []byte(strings.TrimPrefix(header.Get(name), "v1,"))
			value = value[:len(value)-2] // the last letter has padding bits and "=" is padding
			flip(r, value)
			changedHeader.Set(name, "v1,"+string(value)+header.Get(name)[len("v1,")+len(value):])
		default:
			name := "Webhook-" + part
			value := []byte(header.Get(name))
			flip(r, value)
			changedHeader.Set(name, string(value))
		}
		if official.Verify(changedBody, changedHeader) == nil ||
			signature.Verify(changedHeader, changedBody, time.Now(), key) == nil {
			r.Errorf("a webhook with a changed %s passes", part)
		}
	})
}

func flip(r *rapid.T, b []byte) {
	bit := rapid.IntRange(0, len(b)*8-1).Draw(r, "bit")
	b[bit/8] ^= 1 << (bit % 8)
}

func TestAgentsOfOneUserDoNotInterfere(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		identifiers := rapid.SliceOfNDistinct(names, 2, 4, rapid.ID).Draw(r, "agents")
		agents := make([]*agent, len(identifiers))
		sources, questions := make([]string, len(agents)), make([]string, len(agents))
		for i, identifier := range identifiers {
			agents[i] = d.agent(identifier)
		}
		for i, a := range agents {
			sources[i] = a.save(codes.Draw(r, "code")).ID
			questions[i] = d.ask(sources[i], texts.Draw(r, "question")).ID
		}
		touched := rapid.IntRange(0, len(agents)-1).Draw(r, "touched")
		if rapid.Bool().Draw(r, "disconnect") {
			_, err := d.Disconnect(t.Context(), d.user, agents[touched].session.ID)
			must(d.t, err)
		} else {
			_, err := agents[touched].respond(questions[touched], "!", &notebook.CodeUpdate{Code: "z"})
			must(d.t, err)
		}
		for i, a := range agents {
			if i == touched {
				continue
			}
			open := a.poll()
			mine, err := d.AgentSources(t.Context(), a.caller, "")
			must(d.t, err)
			if len(open) != 1 || open[0].ID != questions[i] || len(mine.Sources) != 1 || mine.Sources[0].ID != sources[i] ||
				mine.Sources[0].Version != 1 {
				r.Errorf("%s sees %+v and %+v", a.caller.AgentIdentifier, open, mine.Sources)
			}
			_, err = a.respond(questions[touched], "not mine", nil)
			wantCode(d.t, err, protocol.CodeNotFound)
		}
	})
}

func TestADisconnectionStopsDeliveriesAndKeepsSources(t *testing.T) {
	t.Parallel()
	property(t, func(r *rapid.T, d *fixture) {
		a := d.agent("ada")
		if rapid.Bool().Draw(r, "webhook") {
			_, err := d.RegisterWebhook(t.Context(), a.caller, &notebook.WebhookRequest{URL: "https://a.example/"})
			must(d.t, err)
		}
		before := map[string]string{}
		for range rapid.IntRange(0, 3).Draw(r, "sources") {
			code := codes.Draw(r, "code")
			before[a.save(code).ID] = code
		}
		for id := range before {
			d.ask(id, "?")
		}
		sent := len(d.outbox.sent)
		for range rapid.IntRange(1, 2).Draw(r, "times") {
			_, err := d.Disconnect(t.Context(), d.user, a.session.ID)
			must(d.t, err)
		}
		for id, code := range before {
			got, err := d.Source(t.Context(), d.user, id)
			must(d.t, err)
			if got.Source.Content != code || got.Source.Metadata.AgentStatus != protocol.AgentDisconnected ||
				len(d.conversation(id).Messages) != 1 {
				r.Errorf("source %+v", got.Source)
			}
			_, err = d.Ask(t.Context(), d.user, id, &notebook.AskRequest{Content: "?"})
			wantCode(d.t, err, protocol.CodeDisconnected)
		}
		_, err := d.Followups(t.Context(), a.caller, "")
		wantCode(d.t, err, protocol.CodeDisconnected)
		if len(d.outbox.sent) != sent {
			r.Errorf("%d messages were enqueued after the disconnection", len(d.outbox.sent)-sent)
		}
		for id := range d.outbox.endpoints {
			if !d.outbox.disabled[id] {
				r.Error("the webhook is enabled")
			}
		}
	})
}

func sameJSON(t testing.TB, got, want any) bool {
	t.Helper()
	a, err := json.Marshal(got)
	must(t, err)
	b, err := json.Marshal(want)
	must(t, err)
	a, err = protocol.Canonical(a)
	must(t, err)
	b, err = protocol.Canonical(b)
	must(t, err)
	return bytes.Equal(a, b)
}
