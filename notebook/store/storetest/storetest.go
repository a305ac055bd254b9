package storetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/notebook"
	"bellhop/protocol"
)

var moment = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

// Run tests the contract; open returns an empty store.
func Run(t *testing.T, open func(t testing.TB) *Books) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, b *Books)
	}{
		{"a session comes back as it was saved", sessionsRoundTrip},
		{"an agent identifier belongs to one session of a user, also at once", identifiersAreUnique},
		{"another user's rows are not found", rowsHaveAnOwner},
		{"the newest versions come in the order asked, code up to a budget", newestHasABudget},
		{"versions come oldest first, the newest with their texts within a budget", versionsHaveABudget},
		{"an unverified version is found until it is verified", unverifiedIsFound},
		{"messages come back in order, with what their version brought", messagesRoundTrip},
		{"numbers of messages are unique, and so are answers", messagesAreUnique},
		{"open follow-ups are those without an answer", followupsWait},
		{"unread are answers and failures that were not shown, by source", unreadIsCounted},
		{"messages say what they are about, to their user", messagesHaveSubjects},
		{"exchanges begin with the last answer before an open follow-up", exchangesAreRecent},
		{"a deleted notebook deletes everything that belongs to it", deletesCascade},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// fixture is a user with a session, a notebook and a source.
type fixture struct {
	session  notebook.Session
	notebook notebook.Notebook
	source   notebook.Source
}

func newFixture(t *testing.T, b *Books) *fixture {
	t.Helper()
	user := b.User(t)
	s := &fixture{session: notebook.Session{
		ID: protocol.NewID(), UserID: user, AgentName: "Äda", AgentIdentifier: "ada", AgentIcon: "🤖",
		WebhookURL: "https://a.example/", EndpointID: "e", Metadata: map[string]any{"a": "<&>", "n": 1.5}, Rev: 3,
		Event: "message", EventSource: "s", ChangedAt: moment, LastActivity: moment.Add(time.Second), CreatedAt: moment,
	}}
	s.notebook = notebook.Notebook{
		ID: protocol.NewID(), UserID: user, SessionID: s.session.ID, Title: "t", Description: "d", CreatedAt: moment,
	}
	ok(t, b.InsertSession(t.Context(), &s.session))
	inserted, err := b.InsertNotebook(t.Context(), &s.notebook)
	ok(t, err)
	if !inserted {
		t.Fatal("the notebook was there")
	}
	s.source = *s.addSource(t, b, "package a\n")
	return s
}

func (s *fixture) addSource(t *testing.T, b *Books, code string) *notebook.Source {
	t.Helper()
	source := &notebook.Source{
		ID: protocol.NewID(), UserID: s.session.UserID, NotebookID: s.notebook.ID, SessionID: s.session.ID, Title: "t",
		Language: "go", Context: "why", Metadata: map[string]any{"path": "a.go"}, Version: 1, CreatedAt: moment,
	}
	ok(t, b.InsertSource(t.Context(), source))
	ok(t, b.InsertVersion(t.Context(), &notebook.Version{
		SourceID: source.ID, Number: 1, Code: code, Author: "ada", CreatedAt: moment,
		Verification: &protocol.Verification{
			Language: "go", Verdict: protocol.Verified, Diagnostics: []protocol.Diagnostic{}, VerifiedAt: &moment,
		},
	}))
	return source
}

func (s *fixture) message(seq int64, role protocol.FollowupRole) *notebook.Message {
	return &notebook.Message{
		ID: protocol.NewID(), SourceID: s.source.ID, Seq: seq, Role: role, Content: "?", State: notebook.Pending,
		CreatedAt: moment.Add(time.Duration(seq) * time.Second),
	}
}

func sessionsRoundTrip(t *testing.T, b *Books) {
	s := newFixture(t, b)
	got, err := b.Session(t.Context(), s.session.UserID, s.session.ID)
	ok(t, err)
	same(t, *got, s.session)
	s.session.Disconnected, s.session.Rev, s.session.Metadata = true, 4, map[string]any{}
	ok(t, b.SaveSession(t.Context(), &s.session))
	ok(t, b.Write(t.Context(), func(ctx context.Context) error {
		got, err = b.LockIdentifier(ctx, s.session.UserID, "ada")
		return err
	}))
	same(t, *got, s.session)
	for since, n := range map[time.Duration]int{0: 1, time.Microsecond: 0} {
		changed, err := b.ChangedSessions(t.Context(), []string{s.session.UserID, "nobody"}, moment.Add(since))
		ok(t, err)
		same(t, len(changed), n)
	}
}

func identifiersAreUnique(t *testing.T, b *Books) {
	user := b.User(t)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			errs[i] = b.InsertSession(t.Context(), &notebook.Session{
				ID: protocol.NewID(), UserID: user, AgentIdentifier: "x", ChangedAt: moment,
				LastActivity: moment, CreatedAt: moment,
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		ok(t, err)
	}
	sessions, err := b.Sessions(t.Context(), user, "x")
	ok(t, err)
	same(t, len(sessions), 1)
}

func rowsHaveAnOwner(t *testing.T, b *Books) {
	s, bob, ctx := newFixture(t, b), b.User(t), t.Context()
	m := s.message(1, protocol.FollowupUser)
	ok(t, b.InsertMessage(ctx, m))
	_, session := b.Session(ctx, bob, s.session.ID)
	_, book := b.Notebook(ctx, bob, s.notebook.ID)
	_, bookOf := b.NotebookOf(ctx, bob, s.session.ID)
	_, source := b.Source(ctx, bob, s.source.ID)
	_, message := b.Message(ctx, bob, m.ID)
	for name, err := range map[string]error{
		"session": session, "notebook": book, "notebook of": bookOf, "source": source, "message": message,
		"delete notebook": b.DeleteNotebook(ctx, bob, s.notebook.ID), "delete source": b.DeleteSource(ctx, bob, s.source.ID),
	} {
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func newestHasABudget(t *testing.T, b *Books) {
	s := newFixture(t, b)
	second, third := s.addSource(t, b, "0123456789"), s.addSource(t, b, "x")
	versions, err := b.Newest(t.Context(), []notebook.Source{*third, *second, s.source}, 11)
	ok(t, err)
	var got []string
	for _, v := range versions {
		got = append(got, v.SourceID+v.Code)
	}
	want := []string{third.ID + "x", second.ID + "0123456789", s.source.ID}
	if !slices.Equal(got, want) || !versions[2].Omitted || versions[1].Omitted {
		t.Errorf("%v, want %v", got, want)
	}
	none, err := b.Newest(t.Context(), nil, 1)
	ok(t, err)
	same(t, len(none), 0)
}

func versionsHaveABudget(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	for n := int64(2); n <= 3; n++ {
		ok(t, b.InsertVersion(ctx, &notebook.Version{
			SourceID: s.source.ID, Number: n, Code: "12345", Diff: "123", CreatedAt: moment,
		}))
	}
	for budget, want := range map[int64][]string{
		100: {"package a\n", "12345123", "12345123"}, 16: {"-", "12345123", "12345123"},
		15: {"-", "-", "12345123"}, 0: {"-", "-", "-"},
	} {
		versions, err := b.Versions(ctx, s.source.ID, budget)
		ok(t, err)
		var got []string
		for i, v := range versions {
			same(t, v.Number, int64(i+1))
			shown := v.Code + v.Diff
			if v.Omitted {
				shown += "-"
			}
			got = append(got, shown)
		}
		same(t, got, want)
	}
	none, err := b.Versions(ctx, "x", 1)
	ok(t, err)
	same(t, len(none), 0)
}

func unverifiedIsFound(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	ok(t, b.InsertVersion(ctx, &notebook.Version{SourceID: s.source.ID, Number: 2, Code: "x", CreatedAt: moment}))
	found, err := b.Unverified(ctx, 5)
	ok(t, err)
	if len(found) != 1 || found[0].Version.Number != 2 || found[0].Source.ID != s.source.ID {
		t.Fatalf("found %+v", found)
	}
	v := protocol.Verification{
		Verdict: protocol.VerifyFailed, Diagnostics: []protocol.Diagnostic{{Line: 1, Message: "<"}}, VerifiedAt: &moment,
	}
	ok(t, b.SetVerification(ctx, s.source.ID, 2, &v))
	found, err = b.Unverified(ctx, 5)
	ok(t, err)
	same(t, len(found), 0)
	got, err := b.Version(ctx, s.source.ID, 2)
	ok(t, err)
	same(t, *got.Verification, v)
}

func messagesRoundTrip(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	ok(t, b.InsertVersion(ctx, &notebook.Version{
		SourceID: s.source.ID, Number: 2, Diff: "+x", Description: "more", CreatedAt: moment,
	}))
	question, answer := s.message(1, protocol.FollowupUser), s.message(2, protocol.FollowupAgent)
	question.Attachments = []protocol.FollowupAttachment{{Name: "n", Type: "text/plain", Content: "c"}}
	answer.ReplyTo, answer.Version, answer.Description, answer.Diff = question.ID, 2, "more", "+x"
	ok(t, b.InsertMessage(ctx, question))
	ok(t, b.InsertMessage(ctx, answer))
	later := moment.Add(time.Hour)
	question.State, question.Failure, question.DeliveredAt, question.ReadAt = notebook.Answered, "f", &later, &later
	ok(t, b.SaveMessage(ctx, question))
	for through, want := range []int64{0, 1, 1} { // the failure, then the answer
		n, err := b.MarkRead(ctx, s.source.ID, int64(through), later)
		ok(t, err)
		same(t, n, want)
	}
	answer.ReadAt, question.SeenAt = &later, &later
	got, err := b.Messages(ctx, s.source.ID, 0, 10, 1000)
	ok(t, err)
	same(t, got, []notebook.Message{*question, *answer})
	got, err = b.Messages(ctx, s.source.ID, 2, 10, 1000)
	ok(t, err)
	same(t, got, []notebook.Message{*question})
	got, err = b.Messages(ctx, s.source.ID, 0, 1, 1000)
	ok(t, err)
	same(t, got, []notebook.Message{*answer})
	got, err = b.Messages(ctx, s.source.ID, 0, 10, 1) // the newest one is returned whatever its size
	ok(t, err)
	same(t, got, []notebook.Message{*answer})
}

func messagesAreUnique(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	question, answer := s.message(1, protocol.FollowupUser), s.message(2, protocol.FollowupAgent)
	answer.ReplyTo = question.ID
	ok(t, b.InsertMessage(ctx, question))
	ok(t, b.InsertMessage(ctx, answer))
	again := s.message(3, protocol.FollowupAgent)
	again.ReplyTo = question.ID
	for name, m := range map[string]*notebook.Message{"seq": s.message(1, protocol.FollowupUser), "answer": again} {
		if err := b.InsertMessage(ctx, m); protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func followupsWait(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	var want []string
	for i, state := range []notebook.MessageState{
		notebook.Pending, notebook.Delivered, notebook.Undelivered, notebook.Refused, notebook.Answered,
	} {
		m := s.message(int64(i+1), protocol.FollowupUser)
		m.State = state
		ok(t, b.InsertMessage(ctx, m))
		if i < 3 {
			want = append(want, m.ID)
		}
	}
	ok(t, b.InsertMessage(ctx, s.message(6, protocol.FollowupAgent)))
	open, err := b.OpenFollowups(ctx, s.session.ID, 10)
	ok(t, err)
	var got []string
	for _, f := range open {
		got = append(got, f.ID)
		same(t, f.SourceTitle+f.SourceLanguage+f.SourceContext, "tgowhy")
		same(t, f.SourceVersion, 1)
	}
	same(t, got, want)
	ok(t, b.MarkDelivered(ctx, want[:1], moment))
	m, err := b.Message(ctx, s.session.UserID, want[0])
	ok(t, err)
	same(t, m.State, notebook.Delivered)
}

func unreadIsCounted(t *testing.T, b *Books) {
	s, ctx, bob := newFixture(t, b), t.Context(), b.User(t)
	failed, pending, answer := s.message(1, protocol.FollowupUser),
		s.message(2, protocol.FollowupUser), s.message(3, protocol.FollowupAgent)
	failed.Failure = "f"
	for _, m := range []*notebook.Message{failed, pending, answer} {
		ok(t, b.InsertMessage(ctx, m))
	}
	for through, messages := range []int{2, 1, 1, 0} {
		_, err := b.MarkRead(ctx, s.source.ID, int64(through), moment)
		ok(t, err)
		found, err := b.Unread(ctx, s.session.UserID)
		ok(t, err)
		var want []notebook.Unread
		if messages > 0 {
			want = []notebook.Unread{{SourceID: s.source.ID, NotebookID: s.notebook.ID, Messages: messages}}
		}
		same(t, found, want)
	}
	failed.Failure, failed.SeenAt = "again", nil
	ok(t, b.SaveMessage(ctx, failed))
	for user, want := range map[string]int{s.session.UserID: 1, bob: 0} {
		found, err := b.Unread(ctx, user)
		ok(t, err)
		same(t, len(found), want)
	}
}

func messagesHaveSubjects(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	m := s.message(1, protocol.FollowupUser)
	m.Content = strings.Repeat("ü", 201)
	ok(t, b.InsertMessage(ctx, m))
	for user, want := range map[string][]notebook.Subject{
		b.User(t): nil, s.session.UserID: {{MessageID: m.ID, DeliverySubject: protocol.DeliverySubject{
			AgentSessionID: s.session.ID, AgentName: "Äda", SourceID: s.source.ID,
			SourceTitle: "t", Question: strings.Repeat("ü", 200),
		}}},
	} {
		found, err := b.Subjects(ctx, user, []string{m.ID, "x"})
		ok(t, err)
		same(t, found, want)
	}
}

func exchangesAreRecent(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	long := strings.Repeat("ü", notebook.HistoryText+5)
	for i, m := range []struct {
		role  protocol.FollowupRole
		state notebook.MessageState
	}{
		{protocol.FollowupUser, notebook.Answered},
		{protocol.FollowupAgent, notebook.Delivered}, // before the last answer
		{protocol.FollowupUser, notebook.Answered},
		{protocol.FollowupAgent, notebook.Delivered},
		{protocol.FollowupUser, notebook.Refused},
		{protocol.FollowupUser, notebook.Pending},
		{protocol.FollowupUser, notebook.Answered},
		{protocol.FollowupUser, notebook.Undelivered},
		{protocol.FollowupAgent, notebook.Delivered}, // after the last open one
	} {
		message := s.message(int64(i+1), m.role)
		message.State, message.Content = m.state, long
		ok(t, b.InsertMessage(ctx, message))
	}
	for limit, want := range map[int][]int64{10: {4, 5, 7}, 2: {5, 7}} {
		found, err := b.Exchanges(ctx, []string{s.source.ID, "x"}, limit)
		ok(t, err)
		var got []int64
		for _, m := range found[s.source.ID] {
			got = append(got, m.Seq)
			same(t, len([]rune(m.Content)), notebook.HistoryText+1)
		}
		same(t, got, want)
	}
	none, err := b.Exchanges(ctx, nil, 1)
	ok(t, err)
	same(t, len(none), 0)
}

func deletesCascade(t *testing.T, b *Books) {
	s, ctx := newFixture(t, b), t.Context()
	ok(t, b.InsertMessage(ctx, s.message(1, protocol.FollowupUser)))
	n, err := b.CountSources(ctx, s.notebook.ID)
	ok(t, err)
	same(t, n, 1)
	ok(t, b.DeleteNotebook(ctx, s.session.UserID, s.notebook.ID))
	for _, table := range []string{"notebooks", "sources", "source_versions", "source_messages"} {
		var rows int64
		ok(t, b.DB.Conn(ctx).Table(table).Count(&rows).Error)
		if rows != 0 {
			t.Errorf("%s: %d rows", table, rows)
		}
	}
}
