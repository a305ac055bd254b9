package notebook_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bellhop/notebook"
	"bellhop/protocol"
)

// Answers and failures are unread until the user's page has shown them; a GET is no such page.
func TestMessagesAreUnreadUntilThePageShowsThem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada, ctx := d.agent("ada"), t.Context()
		source, other := ada.save("x"), ada.save("y")
		want := func(unread, ofSource int) {
			t.Helper()
			d.conversation(source.ID)
			book, err := d.Notebook(ctx, d.user, ada.notebook.ID)
			must(t, err)
			if got := d.unread(); got[0] != unread || book.Notebook.Unread != unread || book.Sources[1].Unread != ofSource {
				t.Errorf("unread %v, %+v; want %d, %d", got, book, unread, ofSource)
			}
		}
		asked := d.ask(source.ID, "?")
		want(0, 0)
		must(t, answer(ada, asked.ID, "!"))
		failed := d.ask(source.ID, "??")
		must(t, d.Failed(ctx, d.user, failed.ID, "status 500"))
		must(t, answer(ada, d.ask(other.ID, "?").ID, "!"))
		want(3, 2)
		read := func(userID, sourceID, messageID string) error {
			return d.MarkRead(ctx, userID, sourceID, &notebook.ReadRequest{MessageID: messageID})
		}
		reply := d.conversation(source.ID).Messages[1]
		notified := d.notifications.count(d.user)
		for range 2 { // the second call changes nothing
			must(t, read(d.user, source.ID, reply.ID))
			want(2, 1)
		}
		if n := d.notifications.count(d.user); n != notified+1 || !d.conversation(source.ID).Messages[1].Metadata.Read {
			t.Errorf("notified %d times", n-notified)
		}
		must(t, read(d.user, source.ID, failed.ID))
		want(1, 0)
		wantCode(t, read(d.user, other.ID, failed.ID), protocol.CodeNotFound) // of another source
		wantCode(t, read(d.books.User(t), source.ID, failed.ID), protocol.CodeNotFound)
		wantCode(t, read(d.user, source.ID, "x"), protocol.CodeNotFound)
		wantCode(t, read(d.user, source.ID, ""), protocol.CodeInvalid)
		list, err := d.AgentSources(ctx, ada.caller, "")
		must(t, err)
		if list.Sources[0].Unread != 0 {
			t.Error("an agent sees what its user has not read")
		}
	})
}

// A message that failed goes to the user's own webhooks, also when the agent refused it.
func TestAFailureIsAnEvent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada := d.agent("ada")
		source := ada.save("x")
		lost, refused := d.ask(source.ID, "?"), d.ask(source.ID, "??")
		must(t, d.Failed(t.Context(), d.user, lost.ID, "status 500"))
		must(t, d.Failed(t.Context(), d.user, lost.ID, "status 500")) // reported again
		must(t, d.Delivered(t.Context(), d.user, refused.ID, []byte(`{"success":false,"error":"no"}`)))
		event := notebook.Failure{
			UserID: d.user, At: start, SourceID: source.ID, AgentSessionID: ada.session.ID, MessageID: lost.ID,
			Failure: "Not delivered: status 500",
		}
		second := event
		second.MessageID, second.Delivered, second.Failure = refused.ID, true, "no"
		if got := d.outbox.failures; len(got) != 2 || got[0] != event || got[1] != second {
			t.Errorf("%+v", got)
		}
	})
}

// The conversation says how far the delivery of a pending message is, and of no other.
func TestAConversationShowsTheProgressOfDeliveries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada, ctx := d.agent("ada"), t.Context()
		source := ada.save("x")
		answered := d.ask(source.ID, "?")
		must(t, answer(ada, answered.ID, "!"))
		_, err := d.RegisterWebhook(ctx, ada.caller, &notebook.WebhookRequest{URL: "https://a.example"})
		must(t, err)
		first, second := d.ask(source.ID, "??"), d.ask(source.ID, "???")
		next := start.Add(time.Second)
		d.outbox.progress = map[string]protocol.FollowupProgress{
			first.ID:  {State: protocol.ProgressRetrying, Attempts: 2, NextAttemptAt: &next, LastError: "status 500"},
			second.ID: {State: protocol.ProgressWaiting},
		}
		messages := d.conversation(source.ID).Messages
		if messages[0].Metadata.Progress != nil || messages[1].Metadata.Progress != nil {
			t.Errorf("%+v", messages)
		}
		if p := messages[2].Metadata.Progress; p == nil || p.Attempts != 2 || !p.NextAttemptAt.Equal(next) {
			t.Errorf("%+v", p)
		}
		if p := messages[3].Metadata.Progress; p == nil || p.State != protocol.ProgressWaiting {
			t.Errorf("%+v", p)
		}
	})
}

// Texts come along in both directions, by poll and by webhook.
func TestAttachmentsGoBothWays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		ada, ctx := d.agent("ada"), t.Context()
		source := ada.save("x")
		log := protocol.FollowupAttachment{Name: "build.log", Type: "text/plain", Content: "<failed>"}
		_, err := d.Ask(ctx, d.user, source.ID, &notebook.AskRequest{
			Content: "?", Attachments: []protocol.FollowupAttachment{log},
		})
		must(t, err)
		open := ada.poll()
		if len(open) != 1 || len(open[0].Attachments) != 1 || open[0].Attachments[0] != log {
			t.Fatalf("%+v", open)
		}
		test := protocol.FollowupAttachment{Name: "a_test.go", Type: "text/x-go", Content: "package a"}
		reply := &notebook.RespondRequest{Response: "!", Attachments: []protocol.FollowupAttachment{test}}
		_, err = d.Respond(ctx, ada.caller, open[0].ID, reply)
		must(t, err)
		byWebhook := d.ask(source.ID, "??")
		body := `{"success":true,"response":"!!","attachments":[{"name":"a_test.go","type":"text/x-go","content":"package a"}]}`
		must(t, d.Delivered(ctx, d.user, byWebhook.ID, []byte(body)))
		messages := d.conversation(source.ID).Messages
		for i, want := range []protocol.FollowupAttachment{0: log, 1: test, 3: test} {
			if want.Name == "" {
				continue
			}
			if got := messages[i].Metadata.Attachments; len(got) != 1 || got[0] != want {
				t.Errorf("message %d: %+v", i, got)
			}
		}
		wantAttachmentsChecked(ctx, t, d, ada, d.ask(source.ID, "???").ID)
	})
}

func wantAttachmentsChecked(ctx context.Context, t *testing.T, d *fixture, ada *agent, question string) {
	t.Helper()
	large := strings.Repeat("x", 64<<10+1)
	for code, list := range map[protocol.Code][]protocol.FollowupAttachment{
		protocol.CodeTooLarge: {{Name: "a", Content: large}},
		protocol.CodeInvalid:  make([]protocol.FollowupAttachment, 9),
	} {
		_, err := d.Respond(ctx, ada.caller, question, &notebook.RespondRequest{Response: "!", Attachments: list})
		wantCode(t, err, code)
	}
}
