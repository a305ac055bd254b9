package notebook_test

import (
	"strings"
	"testing"
	"time"

	"bellhop/notebook"
	"bellhop/protocol"
)

func TestAQuestionBringsAnAnswerAndAVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		a := d.agent("ada")
		source := a.save("package a\n\nvar x = 1\n")
		question := d.ask(source.ID, "Why one?")
		if question.Metadata.Delivered || len(d.outbox.sent) != 0 {
			t.Errorf("delivered at once: %+v", question)
		}
		open := a.poll()
		if len(open) != 1 || open[0].ID != question.ID || open[0].SourceTitle != "a title" ||
			len(open[0].ConversationHistory) != 0 {
			t.Fatalf("open %+v", open)
		}
		if c := d.conversation(source.ID); !c.Messages[0].Metadata.Delivered || c.Messages[0].Metadata.Read {
			t.Errorf("after the poll %+v", c.Messages)
		}
		if again := a.poll(); len(again) != 1 {
			t.Errorf("an unanswered question is gone: %+v", again)
		}
		resp, err := a.respond(question.ID, "Two is better.", &notebook.CodeUpdate{
			Code: "package a\n\nvar x = 2\n", Description: "two",
		})
		must(t, err)
		if resp.Source.Version != 2 || resp.Source.Content != "package a\n\nvar x = 2\n" || !resp.Source.Metadata.IsVerified {
			t.Errorf("source %+v", resp.Source)
		}
		if len(a.poll()) != 0 {
			t.Error("an answered question still waits")
		}
		c := d.conversation(source.ID)
		wantDiff := "--- version 1\n+++ version 2\n@@ -1,3 +1,3 @@\n package a\n \n-var x = 1\n+var x = 2\n"
		last := c.Messages[1]
		if len(c.Messages) != 2 || last.Metadata.CodeModification == nil || last.Metadata.CodeModification.Diff != wantDiff ||
			last.Metadata.InReplyTo != question.ID || !c.Messages[0].Metadata.Read {
			t.Errorf("conversation %+v", c.Messages)
		}
		if d.conversation(source.ID).Messages[1].Metadata.Read {
			t.Error("a GET marked the answer as read")
		}
		versions, err := d.Versions(t.Context(), d.user, source.ID)
		must(t, err)
		if len(versions.Versions) != 2 || versions.Versions[0].Content != "package a\n\nvar x = 1\n" ||
			versions.Versions[1].Diff != wantDiff ||
			versions.Versions[1].Author != "ada" || versions.Versions[1].MessageID != last.ID {
			t.Errorf("versions %+v", versions.Versions)
		}
		_, err = a.respond(question.ID, "Once more.", nil)
		wantCode(t, err, protocol.CodeAnswered)
		if d.notifications.n[d.user] == 0 || len(d.outbox.answers) != 1 || d.outbox.answers[0].Version != 2 {
			t.Errorf("notified %v, answers %+v", d.notifications.n, d.outbox.answers)
		}
	})
}

func TestCallersReachOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ctx := t.Context()
		ada, bob := d.agent("ada"), d.agent("bob")
		source := ada.save("x")
		question := d.ask(source.ID, "?")
		otherUser := open(t, d.books)
		foreign := otherUser.agent("ada")
		save := &notebook.SaveRequest{NotebookID: ada.notebook.ID, Title: "t", Code: "x", Context: "c"}
		respond := &notebook.RespondRequest{Response: "!"}
		for _, c := range []struct {
			name string
			code protocol.Code
			call func() error
		}{
			{
				"another agent of the user saves to the notebook", protocol.CodeNotFound,
				func() error { _, err := d.Save(ctx, bob.caller, save); return err },
			},
			{
				"another agent answers", protocol.CodeNotFound,
				func() error { _, err := d.Respond(ctx, bob.caller, question.ID, respond); return err },
			},
			{
				"another agent polls for the session", protocol.CodeNotFound,
				func() error { _, err := d.Followups(ctx, bob.caller, ada.session.ID); return err },
			},
			{
				"another user's agent of the same name saves", protocol.CodeNotFound,
				func() error { _, err := d.Save(ctx, foreign.caller, save); return err },
			},
			{
				"another user's agent answers", protocol.CodeNotFound,
				func() error { _, err := d.Respond(ctx, foreign.caller, question.ID, respond); return err },
			},
			{
				"another user reads the source", protocol.CodeNotFound,
				func() error { _, err := d.Source(ctx, otherUser.user, source.ID); return err },
			},
			{"another user asks", protocol.CodeNotFound, func() error {
				_, err := d.Ask(ctx, otherUser.user, source.ID, &notebook.AskRequest{Content: "?"})
				return err
			}},
			{
				"another user disconnects", protocol.CodeNotFound,
				func() error { _, err := d.Disconnect(ctx, otherUser.user, ada.session.ID); return err },
			},
			{
				"another user deletes", protocol.CodeNotFound,
				func() error { return d.DeleteSource(ctx, otherUser.user, source.ID) },
			},
			{"a token of one agent registers another", protocol.CodeForbidden, func() error {
				_, err := d.Create(ctx, ada.caller, &notebook.CreateRequest{AgentName: "B", AgentIdentifier: "bob"})
				return err
			}},
			{"a user with two agents names none of them", protocol.CodeInvalid, func() error {
				_, err := d.Followups(ctx, notebook.Caller{UserID: d.user}, "")
				return err
			}},
			{
				"the zero caller owns nothing", protocol.CodeNotFound,
				func() error { _, err := d.Followups(ctx, notebook.Caller{}, ""); return err },
			},
		} {
			t.Run(c.name, func(t *testing.T) { wantCode(t, c.call(), c.code) })
		}
		if len(ada.poll()) != 1 {
			t.Error("the question was touched")
		}
	})
}

func TestASessionExpiresAndIsRenewed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		a := d.agent("ada")
		source := a.save("x")
		d.clock.Advance(notebook.Lifetime - time.Second)
		a.poll() // polling counts as activity
		d.clock.Advance(notebook.Lifetime - time.Second)
		a.poll()
		d.clock.Advance(notebook.Lifetime)
		_, err := d.Followups(t.Context(), a.caller, "")
		wantCode(t, err, protocol.CodeExpired)
		if e, ok := err.(*protocol.Error); !ok || !strings.Contains(e.Hint, "/api/agent-sessions/"+a.session.ID+"/renew") { //nolint:errorlint // as it is
			t.Errorf("hint of %v", err)
		}
		_, err = d.Ask(t.Context(), d.user, source.ID, &notebook.AskRequest{Content: "?"})
		wantCode(t, err, protocol.CodeExpired)
		again := d.agent("ada")
		if again.session.ID != a.session.ID || again.notebook.ID != a.notebook.ID ||
			again.session.Status != protocol.AgentActive {
			t.Errorf("renewed to %+v", again.session)
		}
		d.ask(source.ID, "?")
		d.clock.Advance(notebook.Lifetime)
		renewed, err := d.Renew(t.Context(), d.user, a.session.ID)
		must(t, err)
		if renewed.AgentSession.Status != protocol.AgentActive || len(a.poll()) != 1 {
			t.Errorf("renewed to %+v", renewed)
		}
	})
}

func TestADisconnectedAgentIsReadableAndGetsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ctx := t.Context()
		a := d.agent("ada")
		source := a.save("x")
		_, err := d.RegisterWebhook(ctx, a.caller, &notebook.WebhookRequest{
			AgentSessionID: a.session.ID, URL: "https://a.example/",
		})
		must(t, err)
		question := d.ask(source.ID, "?")
		_, err = d.Disconnect(ctx, d.user, a.session.ID)
		must(t, err)
		_, err = d.Ask(ctx, d.user, source.ID, &notebook.AskRequest{Content: "?"})
		wantCode(t, err, protocol.CodeDisconnected)
		_, err = a.respond(question.ID, "!", nil)
		wantCode(t, err, protocol.CodeDisconnected)
		_, err = d.Create(ctx, a.caller, &notebook.CreateRequest{AgentName: "A", AgentIdentifier: "ada"})
		wantCode(t, err, protocol.CodeDisconnected)
		_, err = d.RegisterWebhook(ctx, a.caller, &notebook.WebhookRequest{URL: "https://b.example/"})
		wantCode(t, err, protocol.CodeDisconnected)
		must(t, d.Delivered(ctx, d.user, question.ID, []byte(`{"success":true,"response":"too late"}`)))
		if n := len(d.conversation(source.ID).Messages); n != 1 {
			t.Errorf("%d messages: a disconnected agent's reply was stored", n)
		}
		book, err := d.Notebook(ctx, d.user, a.notebook.ID)
		must(t, err)
		if book.Notebook.AgentStatus != protocol.AgentDisconnected || len(book.Sources) != 1 ||
			book.Sources[0].Metadata.AgentStatus != protocol.AgentDisconnected {
			t.Errorf("notebook %+v", book)
		}
		endpoint := d.outbox.sent[0].EndpointID
		if !d.outbox.disabled[endpoint] || len(d.outbox.sent) != 1 {
			t.Error("the webhook is still in use")
		}
		_, err = d.Renew(ctx, d.user, a.session.ID)
		must(t, err)
		d.ask(source.ID, "again?")
		if d.outbox.disabled[endpoint] || len(d.outbox.sent) != 2 {
			t.Error("the webhook is not in use again")
		}
	})
}

func TestAWebhookResponseBecomesTheReply(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ctx := t.Context()
		a := d.agent("ada")
		for _, c := range []struct {
			name, answer string
			messages     int
			failure      string
			version      int64
		}{
			{"a reply", `{"success":true,"response":"Because."}`, 2, "", 1},
			{"a reply with code", `{"success":true,"response":"So:","codeUpdate":{"code":"y","description":"d"}}`, 2, "", 2},
			{"only code", `{"success":true,"codeUpdate":{"code":"y","description":"d"}}`, 2, "", 2},
			{"a refusal", `{"success":false,"error":"I am busy"}`, 1, "I am busy", 1},
			{"a refusal without a reason", `{"success":false}`, 1, "The agent refused the message", 1},
			{"success and nothing else", `{"success":true}`, 1, "", 1},
			{"no reply at all", ``, 1, "", 1},
			{"another object", `{"ok":1}`, 1, "", 1},
			{"no JSON", `ok`, 1, "", 1},
			{"empty code", `{"success":true,"codeUpdate":{"code":""}}`, 1, "", 1},
			{"NUL in the reply", `{"success":true,"response":"a\u0000b"}`, 1, "", 1},
			{
				"too much code", `{"success":true,"codeUpdate":{"code":"` + strings.Repeat("y", notebook.MaxCode+1) + `"}}`, 1,
				"", 1,
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				source := a.save("x")
				question := d.ask(source.ID, "?")
				for range 2 { // a retry, as after a lost commit
					must(t, d.Delivered(ctx, d.user, question.ID, []byte(c.answer)))
				}
				got := d.conversation(source.ID)
				if len(got.Messages) != c.messages || !got.Messages[0].Metadata.Delivered ||
					got.Messages[0].Metadata.Failure != c.failure {
					t.Errorf("%+v", got.Messages)
				}
				shown, err := d.Source(ctx, d.user, source.ID)
				must(t, err)
				if shown.Source.Version != c.version {
					t.Errorf("version %d", shown.Source.Version)
				}
			})
		}
	})
}

func TestAnUndeliveredMessageCanBePolled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ctx := t.Context()
		a := d.agent("ada")
		source := a.save("x")
		question := d.ask(source.ID, "?")
		must(t, d.Failed(ctx, d.user, question.ID, "status 404"))
		if m := d.conversation(source.ID).Messages[0]; m.Metadata.Delivered ||
			m.Metadata.Failure != "Not delivered: status 404" {
			t.Errorf("%+v", m)
		}
		hints, err := d.Hints(ctx, d.user)
		must(t, err)
		if hints[0].Event != protocol.AgentEventFailed || hints[0].SourceID != source.ID {
			t.Errorf("hints %+v", hints)
		}
		if len(a.poll()) != 1 || d.conversation(source.ID).Messages[0].Metadata.Failure != "" {
			t.Error("it is not there for polling")
		}
		must(t, d.Failed(ctx, d.user, question.ID, "status 500"))
		if d.conversation(source.ID).Messages[0].Metadata.Failure != "" {
			t.Error("a late failure hides that the agent has it")
		}
		must(t, d.Failed(ctx, d.user, "gone", "x"))
		must(t, d.Delivered(ctx, d.user, "gone", nil))
	})
}

func TestAfterAWebhookIsGoneTheAgentPolls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ctx := t.Context()
		a := d.agent("ada")
		source := a.save("x")
		register := func(url string) {
			_, err := d.RegisterWebhook(ctx, a.caller, &notebook.WebhookRequest{URL: url})
			must(t, err)
		}
		register("https://a.example/")
		d.ask(source.ID, "1")
		gone := d.outbox.sent[0].EndpointID
		must(t, d.WebhookDisabled(ctx, d.user, "another"))
		must(t, d.WebhookDisabled(ctx, d.user, gone))
		sessions, err := d.Sessions(ctx, d.user)
		must(t, err)
		hints, err := d.Hints(ctx, d.user)
		must(t, err)
		if sessions.AgentSessions[0].WebhookURL != "" || hints[0].Event != protocol.AgentEventWebhookGone {
			t.Errorf("%+v %+v", sessions, hints)
		}
		d.ask(source.ID, "2")
		if len(a.poll()) != 2 || len(d.outbox.sent) != 1 {
			t.Errorf("%d sent", len(d.outbox.sent))
		}
		waiting := d.ask(source.ID, "3")
		register("https://b.example/")
		later := d.ask(source.ID, "4")
		if sent := d.outbox.sent[1:]; len(sent) != 2 || sent[0].MessageID != waiting.ID || sent[1].MessageID != later.ID ||
			sent[0].EndpointID == gone {
			t.Errorf("sent %+v", sent)
		}
	})
}
