package workspace

import (
	"context"
	"strconv"

	"bellhop/protocol"
)

// Remote describes the remote to which a session's work goes; nil if there is none, or if it is not known.
func (m *Manager) Remote(ctx context.Context, sessionID, project string) *protocol.RemoteState {
	rec, err := m.shippable(sessionID, project)
	if err != nil || rec.Kind != kindClone {
		return nil
	}
	state, err := m.describeRemote(ctx, rec)
	if err != nil {
		if protocol.CodeOf(err) != protocol.CodeNoRemote {
			m.log.Warn("the remote of a workspace is not known", "workspace", rec.Key, "error", err)
		}
		return nil
	}
	return state
}

func (m *Manager) describeRemote(ctx context.Context, rec *record) (*protocol.RemoteState, error) {
	to, err := m.findRemote(ctx, rec, nil)
	if err != nil {
		return nil, err
	}
	state := &protocol.RemoteState{Address: to.shown()}
	if m.forges != nil {
		state.Forge, state.TakesToken = m.forges.Kind(to.address, nil), true
	}
	if state.Base, err = m.base(ctx, rec); err != nil {
		return nil, err
	}
	mirror, err := m.shippedRepository(ctx, rec)
	if err != nil {
		return nil, err
	}
	at, err := m.head(ctx, mirror)
	if protocol.CodeOf(err) == protocol.CodeNoBranch {
		return state, nil
	}
	if err == nil {
		err = m.describePushed(ctx, rec, mirror, at, state)
	}
	return state, err
}

// describePushed adds what the host knows of a branch at the remote.
func (m *Manager) describePushed(
	ctx context.Context, rec *record, mirror repository, at head, state *protocol.RemoteState,
) (err error) {
	if last := rec.Pushed; last != nil && last.Branch == at.branch() {
		state.Pushed, state.PullRequest = last.Commit, last.PullRequest
		if state.Diverged, err = m.unlessIn(ctx, mirror, at, last.Diverged); err != nil {
			return err
		}
		missing, err := m.unlessIn(ctx, mirror, at, last.Base)
		if err != nil {
			return err
		}
		state.BaseMoved = missing != ""
	}
	state.Ahead, err = m.aheadOfRemote(ctx, rec, mirror, at)
	return err
}

// aheadOfRemote counts the commits of a branch that no branch of the remote has, as far as the workspace knows.
func (m *Manager) aheadOfRemote(ctx context.Context, rec *record, mirror repository, at head) (int, error) {
	args := []string{"rev-list", "--count", "--ignore-missing", at.tip, "--not", rec.Base, "--remotes"}
	if last := rec.Pushed; last != nil && last.Commit != "" {
		args = append(args, last.Commit)
	}
	out, err := m.git.run(ctx, call{repo: mirror, noFiles: true, args: args})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(trimNewline(out))
}
