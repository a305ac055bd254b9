package agenthost

import (
	"context"

	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// Differ is a Workspaces that can compare a session's workspace with its beginning.
type Differ interface {
	// Diff compares a session's workspace with what it held at first.
	// CodeConflict: there is nothing to compare with.
	Diff(ctx context.Context, sessionID, project string) (*protocol.Diff, error)
}

// Diff returns what a session has changed since it began, its secrets masked.
// CodeNotFound: no such session; CodeConflict: there is nothing to compare
// with, the hint says why; CodeInvalid: this host makes no diffs.
func (h *Host) Diff(ctx context.Context, sessionID string) (*protocol.Diff, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	differ, ok := h.opts.Workspaces.(Differ)
	if !ok {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host makes no diffs",
			Hint: "The capabilities in its answer to POST /session say what it can do",
		}
	}
	s.mu.Lock()
	project := s.state.Record.Project
	s.mu.Unlock()
	diff, err := differ.Diff(ctx, sessionID, project)
	if protocol.CodeOf(err) == protocol.CodeNotFound { // the session is there, its workspace is not
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The session's workspace is gone",
			Hint: "The session's next turn makes it again", Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	mask := stream.NewMasker(s.secrets())
	diff.Patch = mask.Text(diff.Patch)
	for i := range diff.Files {
		diff.Files[i].Path, diff.Files[i].OldPath = mask.Text(diff.Files[i].Path), mask.Text(diff.Files[i].OldPath)
	}
	diff.Fit() // a mask can be longer than its secret
	return diff, nil
}

func (h *Host) capabilities() []string {
	all := []string{protocol.CapabilityEvents, protocol.CapabilityResume, protocol.CapabilityInteractions}
	if _, ok := h.opts.Workspaces.(Differ); ok {
		all = append(all, protocol.CapabilityDiff)
	}
	return all
}
