package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

func TestMaintenanceRunsByItself(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		k.sessions.Now, k.tasks.Now, k.upkeep.Now, k.updater.Now = time.Now, time.Now, time.Now, time.Now
		task := k.task()
		k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) { panic("killed") }
		func() {
			defer func() { _ = recover() }()
			k.checkIn(task.ID, "x")
		}()
		old := k.task()
		k.updater.Now = func() time.Time { return time.Now().Add(-48*time.Hour - time.Second) }
		k.must(k.delete(k.user.UserID, old.ID))
		k.updater.Now = time.Now
		ctx, cancel := context.WithCancel(k.ctx)
		done := make(chan error)
		go func() { done <- k.upkeep.Run(ctx) }()
		time.Sleep(45 * time.Second)
		if status := k.messages(task.ID)[0].Status; status != protocol.MessageError {
			t.Errorf("after 45 s the message is %s", status)
		}
		if _, err := st.AnyTask(k.ctx, old.ID); protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("a tombstone of 48 h: %v", err)
		}
		cancel()
		k.must(<-done)
	})
}

func TestHostsAreProbedRepeatedly(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		k.hosts.Now = time.Now
		host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{Name: "a", URL: "https://a.example", Password: "p"})
		k.must(err)
		away := protocol.Errorf(protocol.CodeBadGateway, "away")
		answers := make(chan error, 7)
		for _, err := range []error{nil, away, nil, away, away, nil, nil} {
			answers <- err
		}
		k.host.onReady = func(broker.Target) error { return <-answers }
		ctx, cancel := context.WithCancel(k.ctx)
		done := make(chan error)
		go func() { done <- k.hosts.Run(ctx) }()
		for _, want := range []struct {
			probe  string
			health broker.HostHealth
		}{
			{"answered", broker.HostOK},
			{"answered at the second try", broker.HostOK},
			{"not answered", broker.HostUnreachable},
			{"answered again", broker.HostOK},
		} {
			time.Sleep(5 * time.Second)
			h, err := st.Host(k.ctx, host.ID)
			k.must(err)
			if h.Health != want.health {
				t.Errorf("a probe that was %s: the host is %s, want %s", want.probe, h.Health, want.health)
			}
			time.Sleep(5 * time.Second)
		}
		cancel()
		k.must(<-done)
	})
}

func TestAnswersThatTheHostRefuses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	ask := `'type':'interaction','interactionId':'q','kind':'ask'`
	k.mustSend(task.ID, "", seqd(1, 1, "t1", ask+`,'state':'open','prompt':'Name?'`))
	for _, c := range []struct {
		rule string
		host error
		want string
	}{
		{
			"the host is away", protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server"),
			`{'code':'bad_gateway','error':'Failed to connect to agent server'}`,
		},
		{
			"92 another answer came first", protocol.Errorf(protocol.CodeAnswered, "Answered otherwise"),
			`{'code':'answered','error':'Answered otherwise'}`,
		},
		{"too late", protocol.Errorf(protocol.CodeExpired, "Expired"), `{'code':'expired','error':'Expired'}`},
		{
			"the host does not know it", protocol.Errorf(protocol.CodeNotFound, "No"),
			`{'code':'expired','error':'The interaction\u0027s time is over'}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			k.host.onAnswer = func(*protocol.AnswerRequest) error { return c.host }
			_, err := k.questions.Answer(k.ctx, k.user.UserID, "q", &protocol.AnswerRequest{Text: "Ada"})
			same(t, fault(err), c.want)
		})
	}
	t.Run("an answer that the host took leaves the row to the host's event", func(t *testing.T) {
		k.host.onAnswer = func(*protocol.AnswerRequest) error { return nil }
		q, err := k.questions.Answer(k.ctx, k.user.UserID, "q", &protocol.AnswerRequest{Text: "Ada"})
		k.must(err)
		if q.State != protocol.InteractionResolved || q.Answer.Text != "Ada" || q.Answer.By != k.user.UserID {
			t.Errorf("answered %+v", q)
		}
		open, err := k.questions.List(k.ctx, k.user.UserID, string(protocol.InteractionOpen), 1)
		k.must(err)
		if len(open) != 1 || open[0].Answer != nil {
			t.Errorf("stored %+v", open)
		}
	})
	t.Run("an expired question is not relayed", func(t *testing.T) {
		k.mustSend(task.ID, "", seqd(1, 2, "t1", ask+`,'state':'expired'`))
		k.host.onAnswer = func(*protocol.AnswerRequest) error { t.Error("relayed"); return nil }
		_, err := k.questions.Answer(k.ctx, k.user.UserID, "q", &protocol.AnswerRequest{Text: "Ada"})
		same(t, fault(err), `{'code':'expired','error':'The interaction\u0027s time is over'}`)
	})
	t.Run("a confirm is answered by the name of what the agent offers", func(t *testing.T) {
		k.mustSend(task.ID, "", seqd(1, 3, "t1",
			`'type':'interaction','interactionId':'o','kind':'confirm','state':'open','prompt':'?','options':['Always']`))
		got := ""
		k.host.onAnswer = func(req *protocol.AnswerRequest) error { got = req.Text; return nil }
		_, err := k.questions.Answer(k.ctx, k.user.UserID, "o", &protocol.AnswerRequest{Text: "Always"})
		k.must(err)
		if got != "Always" {
			t.Errorf("the host got %q", got)
		}
		_, err = k.questions.Answer(k.ctx, k.user.UserID, "o", &protocol.AnswerRequest{Text: "Other"})
		same(t, fault(err), `{'code':'invalid','error':'approved is required'}`)
		k.host.onAnswer = func(*protocol.AnswerRequest) error { return protocol.Errorf(protocol.CodeInvalid, "It offers: Always") }
		_, err = k.questions.Answer(k.ctx, k.user.UserID, "o", &protocol.AnswerRequest{Approved: new(bool)})
		same(t, fault(err), `{'code':'invalid','error':'It offers: Always'}`)
	})
	t.Run("a confirm needs approved", func(t *testing.T) {
		k.mustSend(task.ID, "",
			seqd(1, 4, "t1", `'type':'interaction','interactionId':'c','kind':'confirm','state':'open','prompt':'?'`))
		_, err := k.questions.Answer(k.ctx, k.user.UserID, "c", &protocol.AnswerRequest{})
		same(t, fault(err), `{'code':'invalid','error':'approved is required'}`)
		_, err = k.questions.List(k.ctx, k.user.UserID, "maybe", 0)
		same(t, fault(err), `{'code':'invalid','error':'state must be open, resolved or expired'}`)
	})
}
