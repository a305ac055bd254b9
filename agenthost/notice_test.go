package agenthost_test

import (
	"context"
	"testing"

	"bellhop/agenthost"
)

// A notice of the host is shown in the open turn of its session, and nowhere else.
func TestANoticeOfTheHostIsShownInTheOpenTurn(t *testing.T) {
	t.Parallel()
	const secret = "notice-secret-canary"
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Secrets = func(string) []string { return []string{secret} } }
	r.start()
	gate := make(chan struct{})
	stream := r.startNew("s1", "t1", writeText("before"), wait(gate), func(_ context.Context, out agenthost.Output) error {
		return out.EndText("")
	})
	r.readN(stream, 2)
	r.turn("s2", "t2", writeText("idle"))
	r.host.ShowNotice("s1", "warning", "The password is "+secret+".")
	r.host.ShowNotice("s2", "warning", "no turn is open")
	r.host.ShowNotice("unknown", "warning", "no such session")
	notice := r.untilPart(stream, "data-notice")
	if got := string(notice.part.Data); got != `{"level":"warning","message":"The password is [redacted]."}` {
		t.Errorf("shown %s", got)
	}
	close(gate)
	r.read(stream)
	r.delivered()
	for _, session := range []string{"s1", "s2"} {
		if got := r.texts(session); len(got) != 1 {
			t.Errorf("session %s keeps %q", session, got)
		}
	}
}
