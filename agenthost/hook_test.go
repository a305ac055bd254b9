package agenthost_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

const localURL = "http://127.0.0.1:7799"

func (r *rig) workspaceOf(session string) (agenthost.AgentSpec, agenthost.LocalGrant) {
	r.Helper()
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	for _, spec := range r.agent.specs {
		if spec.SessionID == session {
			g, err := r.host.LocalGrant(spec.Local.Secret)
			if err != nil || g.SessionID != session || g.Path != spec.Dir {
				r.Fatalf("%+v, %v", g, err)
			}
			return spec, g
		}
	}
	r.Fatal("the session has no agent")
	return agenthost.AgentSpec{}, agenthost.LocalGrant{}
}

func (r *rig) workspace(path string, status protocol.Status, reason string, sessions ...string) {
	r.Helper()
	want := agenthost.WorkspaceStatus{Path: path, Status: status, Reason: reason, Sessions: sessions}
	if got := r.host.Workspace(path); !reflect.DeepEqual(got, want) {
		r.Errorf("got %+v, want %+v", got, want)
	}
}

// A person's program in a session's workspace shows on the session, and never as a
// turn: the broker gets idle and why.
func TestWorkInATerminalIsReportedWithoutATurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.LocalURL = localURL }
	r.start()
	r.turn("s1", "t1", writeText("a"))
	spec, g := r.workspaceOf("s1")
	r.workspace(spec.Dir, protocol.StatusIdle, "", "s1")
	r.host.Hook(g, agenthost.HookReport{Program: "tui", Status: protocol.StatusBusy})
	r.workspace(spec.Dir, protocol.StatusBusy, "", "s1")
	r.shows("s1", protocol.ReasonTerminal)
	gate := make(chan struct{})
	stream := r.startNew("s1", "t2", wait(gate))
	if got := r.statusOf("s1"); got.Status != protocol.StatusBusy || got.Reason != "" {
		t.Errorf("during a turn: %+v", got)
	}
	close(gate)
	r.read(stream)
	r.shows("s1", protocol.ReasonTerminal)
	r.host.Hook(g, agenthost.HookReport{Program: "tui", Status: protocol.StatusNone})
	r.shows("s1", "")
	r.delivered()
	wantLines(t, "events", withoutTimes(summary(r.broker.of("s1")), "\x00")[4:], []string{
		" status idle terminal", "t2 status busy ", "t2 finish stop ", "t2 status idle terminal", " status idle ",
	})
}

// A terminal client may be connected to the session's own program, which then reports.
func TestAnAgentReportsWorkOfItsOwnClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.LocalURL = localURL }
	r.start()
	r.turn("s1", "t1", writeText("a"))
	spec, _ := r.workspaceOf("s1")
	spec.Report(protocol.StatusBusy, "")
	r.workspace(spec.Dir, protocol.StatusBusy, "", "s1")
	r.shows("s1", protocol.ReasonTerminal)
	spec.Report(protocol.StatusIdle, protocol.ReasonWaiting)
	r.workspace(spec.Dir, protocol.StatusIdle, protocol.ReasonWaiting, "s1")
	r.shows("s1", protocol.ReasonTerminal)
	spec.Report(protocol.StatusIdle, "")
	r.workspace(spec.Dir, protocol.StatusIdle, "", "s1")
	r.shows("s1", "")
	spec.Report(protocol.StatusNone, "")
	r.workspace(spec.Dir, protocol.StatusIdle, "", "s1") // the session itself has been used
}

func TestAWorkspaceFallsSilent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.stop()
		r.options = func(o *agenthost.Options) {
			o.Poster, o.LocalURL, o.ActivityTimeout = memory{r.broker}, localURL, time.Minute
		}
		r.start()
		r.turn("s1", "t1", writeText("a"))
		spec, g := r.workspaceOf("s1")
		r.host.Hook(g, agenthost.HookReport{Status: protocol.StatusBusy})
		r.workspace(spec.Dir, protocol.StatusBusy, "", "s1")
		time.Sleep(time.Minute + time.Second)
		r.workspace(spec.Dir, protocol.StatusIdle, "", "s1")
		r.shows("s1", "")
	})
}

// Sessions that share a project's own directory share its status; deleting one
// leaves it to the other.
func TestSessionsOfOneWorkspaceAreOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.TempDir()
	r.options = func(o *agenthost.Options) { o.Workspaces, o.LocalURL = sharedDirectory(dir), localURL }
	r.start()
	r.turn("s1", "t1", writeText("a"))
	r.turn("s2", "t1", writeText("a"))
	gate := make(chan struct{})
	stream := r.startNew("s2", "t2", wait(gate))
	r.workspace(dir, protocol.StatusBusy, "", "s1", "s2")
	close(gate)
	r.read(stream)
	r.workspace(dir, protocol.StatusIdle, "", "s1", "s2")
	one, g := r.workspaceOf("s1")
	if two, _ := r.workspaceOf("s2"); one.Local.Secret == two.Local.Secret {
		t.Error("two sessions have one secret")
	}
	r.host.Hook(g, agenthost.HookReport{Program: "tui", Status: protocol.StatusBusy})
	r.shows("s2", protocol.ReasonTerminal)
	for i, session := range []string{"s1", "s2"} {
		if _, err := r.host.Delete(t.Context(), session, ""); err != nil {
			t.Fatal(err)
		}
		if left := i == 0; r.host.Occupied(dir) != left {
			t.Errorf("after %s a terminal client works there: %t", session, !left)
		}
	}
	r.until("nothing is known of it", func() bool { return r.host.Workspace(dir).Status == protocol.StatusNone })
}

type sharedDirectory string

func (d sharedDirectory) Dir(context.Context, string, string) (dir, stateDir string, err error) {
	return string(d), string(d), nil
}

func TestWhoHasNoWorkspaceSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.LocalURL = localURL }
	r.start()
	r.openSession(&protocol.OpenSessionRequest{SessionID: "s1", WebhookURL: r.broker.url(), Attach: true})
	for _, secret := range []string{"", "bhw_", agentPassword} {
		_, err := r.host.LocalGrant(secret)
		r.wantCode("secret "+secret, err, protocol.CodeUnauthorized)
	}
}
