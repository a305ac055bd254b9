package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"bellhop/protocol"
)

// FetchRemote brings commits that the remote of a session's project has into the session's clone: those that the
// checked-out branch has there, and those of the base, unless the workspace's branch contains them. Git in the
// workspace finds them under refs/remotes/origin. No branch, index or file changes, so a turn may run meanwhile.
// own is the user's own token, nil for the host's. Repeating a request gives the same answer. CodeNoRemote,
// CodeNoBranch, CodeRemoteFailed: as of Push.
func (m *Manager) FetchRemote(
	ctx context.Context, sessionID, project string, own *protocol.ForgeCredential,
) (*protocol.FetchResponse, error) {
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
	done, err := m.fetchRemote(ctx, rec, to)
	if err != nil {
		return nil, errUnwritable(err)
	}
	done.Success, done.SessionID = true, sessionID
	return done, m.saveRecord(rec)
}

func (m *Manager) fetchRemote(ctx context.Context, rec *record, to *destination) (*protocol.FetchResponse, error) {
	mirror, at, base, err := m.outgoing(ctx, rec)
	if err != nil {
		return nil, err
	}
	if _, _, err := m.compareRemote(ctx, rec, mirror, to, at, base); err != nil {
		return nil, err
	}
	last := rec.Pushed
	missing := map[string]string{}
	for branch, commit := range map[string]string{base: last.Base, at.branch(): last.Diverged} {
		if commit != "" {
			missing[branch] = commit
		}
	}
	if len(missing) > 0 {
		if err := m.bring(ctx, rec, mirror, to, at, missing); err != nil {
			return nil, err
		}
	}
	last.Diverged, last.Base = missing[at.branch()], missing[base]
	return &protocol.FetchResponse{Branch: at.branch(), Base: base, Diverged: last.Diverged, BaseCommit: last.Base}, nil
}

// bring writes the commits of branches of the remote into the agent's repository, and replaces those of the argument
// by what the remote has at last.
func (m *Manager) bring(
	ctx context.Context, rec *record, mirror repository, to *destination, at head, branches map[string]string,
) error {
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	repo, err := m.fetchingRepository(ctx, rec, mirror, at, scratch)
	if err != nil {
		return err
	}
	args := []string{
		"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--upload-pack=git-upload-pack",
		"--end-of-options", to.address,
	}
	for branch := range branches {
		args = append(args, "+refs/heads/"+branch+":refs/remotes/origin/"+branch)
	}
	if _, err := m.git.run(ctx, call{
		dir: m.data, repo: repo, noFiles: true, connects: true, config: to.settings(), time: m.pushTimeout, args: args,
	}); err != nil {
		return errRemote(ctx, to, err)
	}
	g := giving{Manager: m, rec: rec}
	defer g.close()
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		ref := "refs/remotes/origin/" + branch
		out, err := m.git.run(ctx, call{
			repo: repo, noFiles: true, args: []string{"rev-parse", "--verify", ref + "^{commit}"},
		})
		if err != nil {
			return err
		}
		branches[branch] = trimNewline(out)
		if err := g.objects(ctx, repo, branches[branch], at.tip, scratch); err != nil {
			return err
		}
		g.ref(ref, branches[branch])
	}
	return g.write(ctx)
}

// fetchingRepository makes an empty repository in scratch that reads the objects of a mirror. It has none of the
// agent's refs, so that a damaged one does not end a fetch: the remote learns of the branch and its beginning only.
func (m *Manager) fetchingRepository(
	ctx context.Context, rec *record, mirror repository, at head, scratch string,
) (repository, error) {
	repo := repository{gitDir: filepath.Join(scratch, "fetch.git")}
	if err := m.initBare(ctx, repo.gitDir, rec.Format); err != nil {
		return repo, err
	}
	if err := writeAlternates(filepath.Join(repo.gitDir, "objects"), filepath.Join(mirror.gitDir, "objects")); err != nil {
		return repo, err
	}
	shallow, err := os.ReadFile(filepath.Join(mirror.gitDir, "shallow"))
	switch {
	case err == nil:
		err = writeFile(filepath.Join(repo.gitDir, "shallow"), shallow)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return repo, err
	}
	known := packedRefs(map[string]string{"refs/bellhop/tip": at.tip, "refs/bellhop/begin": rec.Base})
	return repo, writeFile(filepath.Join(repo.gitDir, "packed-refs"), known)
}
