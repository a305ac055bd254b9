package notebook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bellhop/notebook"
	"bellhop/protocol"
)

// What a model reads of 15 questions is small, except for the code, which comes once per source.
func TestFifteenOpenQuestionsAreSmall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada := d.agent("ada")
		code := strings.Repeat("x := 1\n", 1000)
		const sources = 3
		for i := range sources {
			source := ada.save(code + fmt.Sprint("// ", i))
			for range 5 {
				asked := d.ask(source.ID, strings.Repeat("Why? ", 40))
				_, err := ada.respond(asked.ID, strings.Repeat("So. ", 500), &notebook.CodeUpdate{Code: code + asked.ID})
				must(t, err)
			}
			for n := range 5 {
				d.ask(source.ID, fmt.Sprint(n, " ", strings.Repeat("And why is this? ", 12)))
			}
		}
		open := ada.poll()
		raw, err := json.Marshal(open)
		must(t, err)
		withCode, first := 0, map[string]string{}
		for _, f := range open {
			switch {
			case f.SourceCode != "":
				withCode += len(f.SourceCode) + strings.Count(f.SourceCode, "\n")
				if first[f.SourceID] != "" || f.OriginalContext != "why" || !strings.HasPrefix(f.SourceCode, code) {
					t.Errorf("%+v", f)
				}
				first[f.SourceID] = f.ID
			case f.SourceCodeIn != first[f.SourceID] || f.OriginalContext != "":
				t.Errorf("%+v", f)
			}
			if f.SourceLanguage != "go" || f.SourceVersion != 6 {
				t.Errorf("%+v", f)
			}
		}
		if size := len(raw) - withCode; len(open) != 15 || len(first) != sources || size > 20<<10 {
			t.Errorf("%d questions about %d sources are %d bytes beside the code", len(open), len(first), size)
		}
	})
}

// A question comes with the last answer before it and the closed questions since, and no
// message comes twice.
func TestTheHistoryBeginsWithTheLastAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada := d.agent("ada")
		source := ada.save("x")
		must(t, answer(ada, d.ask(source.ID, "first?").ID, "First."))
		refused := d.ask(source.ID, "refused?")
		must(t, d.Delivered(t.Context(), d.user, refused.ID, []byte(`{"success":false,"error":"no"}`)))
		d.ask(source.ID, "second?")
		later := d.ask(source.ID, "third?")
		d.ask(source.ID, "fourth?")
		must(t, answer(ada, later.ID, strings.Repeat("ä", notebook.HistoryText+1)))
		d.ask(source.ID, "fifth?")
		want := []string{
			"second?: First. refused?", "fourth?: third?", "fifth?: " + strings.Repeat("ä", notebook.HistoryText) + " […]",
		}
		for i, f := range ada.poll() {
			if got := f.Content + ": " + contents(f.ConversationHistory); got != want[i] {
				t.Errorf("got  %s\nwant %s", got, want[i])
			}
		}
	})
}

func answer(a *agent, id, text string) error {
	_, err := a.respond(id, text, nil)
	return err
}

func contents(messages []protocol.FollowupMessage) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
	}
	return strings.Join(texts, " ")
}

func TestAnAgentReadsChangesAndDeletesItsSources(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada, bob, ctx := d.agent("ada"), d.agent("bob"), t.Context()
		id := ada.save("one\n").ID
		d.ask(id, "why?")
		read, err := d.AgentSource(ctx, ada.caller, &notebook.GetRequest{SourceID: id})
		must(t, err)
		if read.Source.Content != "one\n" || read.Messages != nil {
			t.Errorf("%+v", read)
		}
		read, err = d.AgentSource(ctx, ada.caller, &notebook.GetRequest{SourceID: id, Conversation: true})
		must(t, err)
		if contents(read.Messages) != "why?" {
			t.Errorf("%+v", read)
		}
		two := &notebook.UpdateRequest{Code: "two\n", Description: "more", BaseVersion: 1}
		for range 2 { // a repeated call makes no version
			changed, err := d.Update(ctx, ada.caller, id, two)
			must(t, err)
			if changed.Source.Version != 2 || changed.Source.Content != "two\n" {
				t.Errorf("%+v", changed)
			}
		}
		_, err = d.Update(ctx, ada.caller, id, &notebook.UpdateRequest{Code: "three\n", BaseVersion: 1})
		wantCode(t, err, protocol.CodeConflict)
		versions, err := d.Versions(ctx, d.user, id)
		must(t, err)
		if v := versions.Versions; len(v) != 2 || v[1].Description != "more" ||
			!strings.Contains(v[1].Diff, "-one\n+two\n") || v[1].MessageID != "" {
			t.Errorf("%+v", versions)
		}
		_, err = d.AgentSource(ctx, bob.caller, &notebook.GetRequest{SourceID: id})
		wantCode(t, err, protocol.CodeNotFound)
		_, err = d.Update(ctx, bob.caller, id, two)
		wantCode(t, err, protocol.CodeNotFound)
		wantCode(t, d.DeleteAgentSource(ctx, bob.caller, id), protocol.CodeNotFound)
		must(t, d.DeleteAgentSource(ctx, ada.caller, id))
		wantCode(t, d.DeleteAgentSource(ctx, ada.caller, id), protocol.CodeNotFound)

		id = ada.save("one\n").ID
		_, err = d.Disconnect(ctx, d.user, ada.session.ID)
		must(t, err)
		_, err = d.Update(ctx, ada.caller, id, two)
		wantCode(t, err, protocol.CodeDisconnected)
		wantCode(t, d.DeleteAgentSource(ctx, ada.caller, id), protocol.CodeDisconnected)
	})
}

// Without its webhook an agent polls, also for the questions that were not delivered yet.
func TestAnAgentRemovesItsWebhook(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada, ctx := d.agent("ada"), t.Context()
		source := ada.save("x")
		_, err := d.RegisterWebhook(ctx, ada.caller, &notebook.WebhookRequest{URL: "https://a.example"})
		must(t, err)
		asked := d.ask(source.ID, "why?")
		for range 2 {
			removed, err := d.RemoveWebhook(ctx, ada.caller, "")
			must(t, err)
			// Its deliveries, which may be many, were deleted before the transaction.
			if removed.AgentSession.WebhookURL != "" || len(d.outbox.cleared) != 1 || len(d.outbox.endpoints) != 0 {
				t.Errorf("%+v, %v", removed, d.outbox.endpoints)
			}
		}
		d.ask(source.ID, "and this?")
		if len(d.outbox.sent) != 1 {
			t.Errorf("sent %+v", d.outbox.sent)
		}
		if open := ada.poll(); len(open) != 2 || open[0].ID != asked.ID {
			t.Errorf("open %+v", open)
		}
	})
}
