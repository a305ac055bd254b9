package agenthost_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// shipping is a Workspaces that ships the work of every session but s9.
type shipping struct {
	directories
	commit func(context.Context) error
}

func (w shipping) Ships(sessionID, _ string) []protocol.ShipStep {
	return []protocol.ShipStep{protocol.ShipStep("of " + sessionID)}
}

func (w shipping) Commit(
	ctx context.Context, sessionID, _ string, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	return &protocol.CommitResponse{SessionID: sessionID, Branch: req.Message}, w.commit(ctx)
}

func (w shipping) Discard(
	_ context.Context, sessionID, _ string, req *protocol.DiscardRequest,
) (*protocol.DiscardResponse, error) {
	return &protocol.DiscardResponse{SessionID: sessionID, Files: len(req.Paths)}, nil
}

func (w shipping) DiscardHunk(
	_ context.Context, sessionID, _ string, req *protocol.DiscardRequest, shown func(string) string,
) (*protocol.DiscardResponse, error) {
	return &protocol.DiscardResponse{SessionID: shown(req.Hunk.Text + sessionID), Files: 1}, nil
}

func (w shipping) FetchRemote(
	_ context.Context, sessionID, project string, _ *protocol.ForgeCredential,
) (*protocol.FetchResponse, error) {
	if sessionID != "s1" {
		return nil, protocol.Errorf(protocol.CodeNotFound, "no workspace")
	}
	return &protocol.FetchResponse{SessionID: sessionID, Base: project}, nil
}

func (w shipping) Push(
	_ context.Context, sessionID, _ string, req *protocol.PushRequest, _ *protocol.ForgeCredential,
) (*protocol.PushResponse, error) {
	return &protocol.PushResponse{SessionID: sessionID, Commit: req.Replaces}, nil
}

func (w shipping) PullRequest(
	_ context.Context, sessionID, _ string, req *protocol.PullRequestRequest, _ *protocol.ForgeCredential,
) (*protocol.PullRequestResponse, error) {
	return &protocol.PullRequestResponse{SessionID: sessionID, URL: req.Title}, nil
}

func (w shipping) Remote(_ context.Context, sessionID, _ string) *protocol.RemoteState {
	return &protocol.RemoteState{Address: "of " + sessionID}
}

func TestWorkIsShippedOnlyBetweenTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inCommit, goOn := make(chan struct{}, 1), make(chan struct{})
	var fault error
	r.options = func(o *agenthost.Options) {
		o.Workspaces = shipping{directories{t.TempDir()}, func(context.Context) error {
			inCommit <- struct{}{}
			<-goOn
			return fault
		}}
		o.Secrets = func(string) []string { return []string{"a-secret-canary"} }
	}
	r.start()
	commit := func(id string) error {
		done, err := r.host.Commit(t.Context(), id, &protocol.CommitRequest{Message: "work"})
		if err == nil && (done.SessionID != id || done.Branch != "work") {
			t.Errorf("%+v", done)
		}
		return err
	}
	r.wantCode("an unknown session", commit("s1"), protocol.CodeNotFound)
	r.agent.script(writeText("one"), forever)
	running := r.post(r.announce("s1", "t1"), "")
	r.readN(running, 2)
	r.wantCode("an open turn", commit("s1"), protocol.CodeBusy)
	discard := func() error {
		_, err := r.host.Discard(t.Context(), "s1", &protocol.DiscardRequest{Paths: []string{"a"}})
		return err
	}
	r.wantCode("files while a turn is open", discard(), protocol.CodeBusy)
	push := func() error {
		_, err := r.host.Push(t.Context(), "s1", &protocol.PushRequest{}, nil)
		return err
	}
	r.wantCode("a push while a turn is open", push(), protocol.CodeBusy)
	_, err := r.host.PullRequest(t.Context(), "s1", &protocol.PullRequestRequest{Title: "x"}, nil)
	r.wantCode("a pull request while a turn is open", err, protocol.CodeBusy)
	fetched, err := r.host.FetchRemote(t.Context(), "s1", nil)
	r.wantCode("commits of the remote while a turn is open", err, "")
	if fetched.SessionID != "s1" {
		t.Errorf("fetched %+v", fetched)
	}
	_, err = r.host.FetchRemote(t.Context(), "s8", nil)
	r.wantCode("commits for an unknown session", err, protocol.CodeNotFound)
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	r.read(running)
	r.wantCode("files of an idle session", discard(), "")
	hunk := &protocol.DiscardHunk{Path: "a", Text: "@@ -1 +1 @@\n-a-secret-canary\n"}
	done, err := r.host.Discard(t.Context(), "s1", &protocol.DiscardRequest{Hunk: hunk})
	if err != nil || strings.Contains(done.SessionID, "canary") || !strings.HasSuffix(done.SessionID, "s1") {
		t.Errorf("a part of a file is not compared as it is shown: %+v %v", done, err)
	}
	_, err = r.host.Discard(t.Context(), "s1", &protocol.DiscardRequest{Hunk: &protocol.DiscardHunk{Path: "../a"}})
	r.wantCode("a part of no file", err, protocol.CodeInvalid)
	r.wantCode("a push of an idle session", push(), "")
	if remote := r.host.Remote(t.Context(), "s1"); remote == nil || remote.Address != "of s1" {
		t.Errorf("remote %v", remote)
	}

	// A turn that begins meanwhile gets its agent afterwards.
	committed := make(chan error, 1)
	go func() { committed <- commit("s1") }()
	<-inCommit
	r.agent.script(writeText("next"))
	next := r.post(r.announce("s1", "t2"), "")
	r.until("the turn has begun", func() bool { return r.statusOf("s1").Status == protocol.StatusBusy })
	if n := r.agent.opened(); n != 1 {
		t.Errorf("%d agents ran while the work was shipped", n)
	}
	close(goOn)
	if err := <-committed; err != nil {
		t.Error(err)
	}
	r.read(next)

	fault = protocol.Errorf(protocol.CodeNotFound, "no workspace")
	r.wantCode("a workspace that is gone", commit("s1"), protocol.CodeNoWorkspace)
	if got := r.host.Ships("s1"); len(got) != 1 || got[0] != "of s1" || r.host.Ships("s8") != nil {
		t.Errorf("ships %v", got)
	}
}

func TestAHostThatShipsListsTheCapability(t *testing.T) {
	t.Parallel()
	for _, ships := range []bool{true, false} {
		r := newRig(t)
		r.options = func(o *agenthost.Options) {
			if ships {
				o.Workspaces = shipping{directories{t.TempDir()}, nil}
			}
		}
		r.start()
		response := r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true,
		})
		if got := slices.Contains(response.Capabilities, protocol.CapabilityShip); got != ships {
			t.Errorf("capabilities %v", response.Capabilities)
		}
		if ships {
			continue
		}
		_, err := r.host.Commit(t.Context(), "s1", &protocol.CommitRequest{Message: "work"})
		r.wantCode("a host that does not ship", err, protocol.CodeMethodNotAllowed)
		if r.host.Ships("s1") != nil {
			t.Error("a host that does not ship lists steps")
		}
	}
}
