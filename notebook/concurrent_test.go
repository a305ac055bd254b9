package notebook_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"bellhop/notebook"
	"bellhop/notebook/store/storetest"
	"bellhop/protocol"
)

func TestOneOfManyAnswersWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		a := d.agent("ada")
		source := a.save("x")
		question := d.ask(source.ID, "?")
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				if i%2 == 0 {
					_, errs[i] = a.respond(question.ID, "!", &notebook.CodeUpdate{Code: "y"})
				} else {
					errs[i] = d.Delivered(t.Context(), d.user, question.ID,
						[]byte(`{"success":true,"response":"!","codeUpdate":{"code":"z"}}`))
				}
			})
		}
		all.Wait()
		for i, err := range errs {
			if code := protocol.CodeOf(err); err != nil && code != protocol.CodeAnswered {
				t.Errorf("%d: %v", i, err)
			}
		}
		shown, err := d.Source(t.Context(), d.user, source.ID)
		must(t, err)
		if n := len(d.conversation(source.ID).Messages); n != 2 || shown.Source.Version != 2 || len(d.outbox.answers) != 1 {
			t.Errorf("%d messages, version %d, %d answers sent", n, shown.Source.Version, len(d.outbox.answers))
		}
	})
}

func TestConcurrentQuestionsAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		source := d.agent("ada").save("x")
		var all sync.WaitGroup
		const n = 8
		for range n {
			all.Go(func() {
				if _, err := d.Ask(t.Context(), d.user, source.ID, &notebook.AskRequest{Content: "?"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		messages, err := d.books.Messages(t.Context(), source.ID, 0, 2*n, 1<<20)
		must(t, err)
		for i, m := range messages {
			if m.Seq != int64(i+1) {
				t.Errorf("message %d has number %d", i+1, m.Seq)
			}
		}
		if len(messages) != n {
			t.Errorf("%d messages", len(messages))
		}
	})
}

// A reply in a webhook response cannot wait for its verification. It is verified later, also
// after a restart.
func TestAVersionFromAWebhookReplyIsVerifiedLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		source := d.agent("ada").save("x")
		verdict := func() *protocol.Verification {
			shown, err := d.Source(t.Context(), d.user, source.ID)
			must(t, err)
			return shown.Source.Metadata.Verification
		}
		for i, code := range []string{"y", "an error"} {
			question := d.ask(source.ID, "?")
			must(t,
				d.Delivered(t.Context(), d.user, question.ID,
					[]byte(`{"success":true,"codeUpdate":{"code":"`+code+`","description":"d"}}`)))
			if verdict() != nil {
				t.Errorf("%q is judged already", code)
			}
			ctx, cancel := context.WithCancel(t.Context())
			before := d.notifications.count(d.user)
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx) }()
			d.notifications.await(d.user, before+1)
			cancel()
			must(t, <-done)
			if v := verdict(); v == nil || (v.Verdict == protocol.Verified) != (i == 0) {
				t.Errorf("%q: %+v", code, v)
			}
		}
	})
}

func TestTheNumberOfAgentsPerUserIsLimited(t *testing.T) {
	t.Parallel()
	d := open(t, storetest.Open(t))
	create := func(i int) error {
		_, err := d.Create(t.Context(), notebook.Caller{UserID: d.user}, &notebook.CreateRequest{
			AgentName: "A", AgentIdentifier: strconv.Itoa(i),
		})
		return err
	}
	for i := range 100 {
		must(t, create(i))
	}
	wantCode(t, create(100), protocol.CodeConflict)
	must(t, create(99))
	sessions, err := d.Sessions(t.Context(), d.user)
	must(t, err)
	if n := len(sessions.AgentSessions); n != 100 {
		t.Errorf("%d sessions", n)
	}
}
