package workspace

import (
	"context"

	"bellhop/protocol"
)

// PullRequest opens a pull request of the pushed branch of a session's workspace, or changes the one that is open,
// and keeps its address in the record of the workspace. own is the user's own token, nil for the
// host's. Repeating a request changes nothing more. CodeConflict: the branch is not pushed, or the forge refuses.
// CodeNoRemote: the host knows no forge for the remote. CodeRemoteFailed, CodeTooManyRequests: as the forge answers.
func (m *Manager) PullRequest(
	ctx context.Context, sessionID, project string, req *protocol.PullRequestRequest, own *protocol.ForgeCredential,
) (*protocol.PullRequestResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.pushTimeout)
	defer cancel()
	rec, unlock, err := m.beginStep(ctx, sessionID, project)
	if err != nil {
		return nil, err
	}
	defer unlock()
	to, err := m.findRemote(ctx, rec, own)
	if err != nil {
		return nil, err
	}
	if m.forges == nil || m.forges.Kind(to.address, own) == "" {
		return nil, errNoForge()
	}
	at, base, err := m.proposed(ctx, rec, to)
	if err != nil {
		return nil, errUnwritable(err)
	}
	opened, created, err := m.forges.Request(ctx, to.address, at.branch(), base, req, own)
	if err != nil {
		return nil, err
	}
	rec.Pushed.PullRequest = opened
	return &protocol.PullRequestResponse{
		Success: true, SessionID: sessionID, URL: opened.URL, Number: opened.Number, Created: created,
		Branch: at.branch(), Base: base,
	}, m.saveRecord(rec)
}

func errNoForge() error {
	return &protocol.Error{
		Code: protocol.CodeNoRemote, Message: "The host knows no forge for the remote of the project",
		Hint: "The operator adds the forge with a token under forges: in the host's configuration",
	}
}

// proposed returns the branch of a workspace, which is pushed, and the base that it is meant for.
func (m *Manager) proposed(ctx context.Context, rec *record, to *destination) (head, string, error) {
	mirror, at, base, err := m.outgoing(ctx, rec)
	if err != nil {
		return head{}, "", err
	}
	if rec.Pushed == nil || rec.Pushed.Branch != at.branch() || rec.Pushed.Commit == "" {
		return head{}, "", &protocol.Error{
			Code: protocol.CodeConflict, Message: "The branch of the workspace is not pushed yet", Hint: "Push it first",
		}
	}
	if base == "" {
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: "The project has no branch to merge into",
			Hint: "The operator names one with branch: in the host's configuration",
		}
	}
	if err != nil {
		return at, base, err
	}
	err = m.checkLinks(ctx, rec, mirror, rec.Pushed.Commit, base, func() (string, error) {
		ref := "refs/heads/" + base
		refs, err := m.remoteRefs(ctx, to, ref)
		return refs[ref], err
	})
	if exitedWith(err, 128) { // the workspace no longer has the commit that was pushed
		err = nil
	}
	return at, base, err
}
