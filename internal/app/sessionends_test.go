package app

import (
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/doctor"
	"bellhop/protocol"
)

func TestTheDoctorShowsOwedEnds(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	user := &broker.User{ID: "u", Email: "u@example.org", PasswordHash: "h", CreatedAt: since}
	must(st.CreateUser(t.Context(), user))
	must(st.CreateTask(t.Context(), &broker.Task{
		ID: "t", UserID: "u", Title: "x", Mode: protocol.ModeAgent, AgentURL: "https://own.example",
		AgentStatus: protocol.StatusNone, WebhookSecret: seal.NewSecret("s"), CreatedAt: since, LastActivityAt: since,
		ChangedAt: since, DeletedAt: &since,
	}))
	must(st.AddOwedEnd(t.Context(), &broker.SessionEnd{TaskID: "t", Since: since, DueAt: since, Attempts: 1}))
	must(st.FailEnd(t.Context(), "t", "no route to host."))
	for _, c := range []struct {
		after time.Duration
		want  doctor.Finding
	}{
		{
			endsMargin - time.Second,
			doctor.Good(doctor.CheckSessions, "", "The sessions of deleted tasks have ended, or will soon."),
		},
		{endsMargin, doctor.Warn(doctor.CheckSessions, "",
			"1 sessions of deleted tasks have not ended on their hosts. The first is owed since 2026-03-04 05:06:07: no "+
				"route to host.",
			"Start the hosts with owedEnds in GET /api/hosts; remove one that is gone with DELETE /api/hosts/:id?force=true.")},
	} {
		if got := owedEnds(t.Context(), st, since.Add(c.after)); len(got) != 1 || got[0] != c.want {
			t.Errorf("after %s: %+v\nwant %+v", c.after, got, c.want)
		}
	}
}
