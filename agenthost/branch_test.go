package agenthost_test

import (
	"context"
	"slices"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// branching is a Workspaces with the branch release.
type branching struct {
	directories
	from *[]string
}

func (b branching) DirFrom(ctx context.Context, id, project, branch string) (dir, stateDir string, err error) {
	*b.from = append(*b.from, project+"@"+branch)
	if branch != "release" {
		return "", "", protocol.Errorf(protocol.CodeNoBranch, "no such branch")
	}
	return b.Dir(ctx, id, project)
}

func TestABranchOfASessionIsCheckedBeforeTheSessionExists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	from := []string{}
	r.options = func(o *agenthost.Options) { o.Workspaces = branching{directories{t.TempDir()}, &from} }
	r.start()
	open := func(branch, workspace string) (*protocol.OpenSessionResponse, error) {
		return r.host.Open(t.Context(), &protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: r.broker.cursorOf("s1"),
			Project: "shop", Branch: branch, Workspace: workspace,
		}, agenthost.Keys{})
	}
	for _, branch := range []string{"-D", "a..b", "main@{1}", "refs/heads/main", "a\nb"} {
		_, err := open(branch, "")
		r.wantCode(branch, err, protocol.CodeInvalid)
	}
	_, err := open("release", "fix")
	r.wantCode("a branch and a workspace", err, protocol.CodeInvalid)
	_, err = open("gone", "")
	r.wantCode("an unknown branch", err, protocol.CodeNoBranch)
	status, err := r.host.Status(t.Context())
	if err != nil || len(status.Sessions) != 0 {
		t.Errorf("a refused session exists: %+v, %v", status.Sessions, err)
	}
	res, err := open("release", "")
	if err != nil || !slices.Contains(res.Capabilities, protocol.CapabilityBranches) {
		t.Fatalf("%+v, %v", res, err)
	}
	if !slices.Equal(from, []string{"shop@gone", "shop@release"}) {
		t.Errorf("the workspaces were asked for %v", from)
	}
}

func TestAHostWithoutBranchesRefusesThem(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	_, err := r.host.Open(t.Context(), &protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: r.broker.cursorOf("s1"), Branch: "release",
	}, agenthost.Keys{})
	r.wantCode("a branch", err, protocol.CodeInvalid)
}
