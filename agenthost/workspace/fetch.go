package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// packTimeout bounds the packing of a session's commits.
const packTimeout = 5 * time.Minute

// Fetch copies the commits of a session's branch into its project's repository, so
// that people find them there. It does nothing for a session without a clone.
func (m *Manager) Fetch(ctx context.Context, sessionID, project string) error {
	rec, err := m.existingRecord(sessionID, project)
	if err != nil || rec.Kind != kindClone || rec.State != stateReady {
		return err
	}
	if id, err := m.agentTip(ctx, rec); err == nil && id == m.fetchedTip(rec) {
		return nil // no process of git is needed when nothing has changed
	}
	_, err = m.repository(ctx, rec)
	return err
}

// agentTip returns the commit of the session's branch in the agent's repository.
func (m *Manager) agentTip(ctx context.Context, rec *record) (string, error) {
	agent, err := m.openGitDir(ctx, rec)
	if err != nil {
		return "", err
	}
	defer agent.close()
	name := "refs/heads/" + rec.Branch
	if content, err := agent.readFile(name, maxLooseRef); err == nil && len(content) > 0 {
		return strings.TrimSpace(string(content)), nil
	}
	refs, err := readRefs(agent)
	return refs[name], err
}

// Files in the mirror of a clone: the commit of the session's branch that was fetched
// last, and the commits that the project had when the clone was made.
const (
	fetchedFile = "bellhop-fetched"
	startFile   = "bellhop-start"
)

// saveStart records the commits of the project's refs, and the tip of the session's branch
// as fetched.
func (m *Manager) saveStart(rec *record, refs map[string]string, tip string) error {
	ids := slices.Sorted(maps.Values(refs))
	return errors.Join(
		writeFile(filepath.Join(m.mirrorDir(rec), startFile), []byte(strings.Join(slices.Compact(ids), "\n")+"\n")),
		m.saveFetched(rec, tip),
	)
}

func (m *Manager) saveFetched(rec *record, id string) error {
	return writeFile(filepath.Join(m.mirrorDir(rec), fetchedFile), []byte(id+"\n"))
}

// fetchedTip returns the commit that was fetched last, "" if none was.
func (m *Manager) fetchedTip(rec *record) string {
	content, err := os.ReadFile(filepath.Join(m.mirrorDir(rec), fetchedFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// startTips returns the commits to which the project's refs pointed when the clone was made.
func (m *Manager) startTips(rec *record) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(m.mirrorDir(rec), startFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(content)), err
}

// fetch brings the session's branch from its mirror into the project. It uses no git
// transport (fetch or push), so no setting of either repository can redirect it. A branch
// that a person has changed or checked out stays as it is.
func (m *Manager) fetch(ctx context.Context, rec *record, src *source, mirror repository) error {
	ref := "refs/heads/" + rec.Branch
	if id, err := mirroredRef(mirror, ref); err == nil && id != "" && id == m.fetchedTip(rec) {
		return nil // no process of git is needed when nothing has changed
	}
	out, err := m.git.run(ctx, call{
		repo: mirror, noFiles: true,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"},
	})
	if exitedWith(err, 1) || exitedWith(err, 128) { // the agent removed or damaged it
		return nil
	}
	id, last := trimNewline(out), m.fetchedTip(rec)
	if err != nil || id == last {
		return err
	}
	release, err := m.repoLocks.acquire(ctx, src.gitDir)
	if err != nil {
		return err
	}
	defer release()
	found, err := m.inProject(ctx, src, "for-each-ref", "--format=%(objectname) %(worktreepath)", ref)
	if err != nil {
		return err
	}
	current, checkedOut, _ := strings.Cut(found, " ")
	if why, err := m.keepsBranch(ctx, src, ref, current, last, checkedOut); err != nil || why != "" {
		m.log.Warn("a session's branch is not updated in the project",
			"workspace", rec.Key, "branch", rec.Branch, "why", why, "error", err)
		return err
	}
	if current != last {
		last = "" // a person has removed the branch, and perhaps its commits
	}
	if err := m.copyCommits(ctx, mirror, src, id, cmp.Or(last, rec.Base)); err != nil {
		return err
	}
	if _, err := m.inProject(ctx, src, "update-ref", ref, id); err != nil {
		return err
	}
	return m.saveFetched(rec, id)
}

// keepsBranch returns why the branch of the project must not be moved: current is
// its commit, last is the one that was fetched before, and checkedOut is the work tree that
// git names for it.
func (m *Manager) keepsBranch(
	ctx context.Context, src *source, ref, current, last, checkedOut string,
) (why string, err error) {
	if current != "" && last != "" && current != last {
		return "it was changed in the project", nil
	}
	// Git names no work tree of a branch without a commit, but one of a bare repository.
	if current != "" && checkedOut == "" {
		return "", nil
	}
	out, err := m.inProject(ctx, src, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	if slices.Contains(strings.Split(out, "\n"), "branch "+ref) {
		return "it is checked out in the project", nil
	}
	return "", nil
}

// copyCommits packs what the mirror has of a commit's history after known, and lets
// the project's git check every object and link before it stores the pack.
func (m *Manager) copyCommits(ctx context.Context, mirror repository, src *source, id, known string) error {
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	wanted := id + "\n^" + known + "\n"
	out, err := m.git.run(ctx, call{
		repo: mirror, noFiles: true, time: packTimeout, stdin: strings.NewReader(wanted),
		args: []string{
			"pack-objects", "--quiet", "--revs", "--local", "--non-empty", "--delta-base-offset", filepath.Join(scratch, "pack"),
		},
	})
	if err != nil {
		return err
	}
	name := trimNewline(out)
	if name == "" { // the project has all of it
		return nil
	}
	pack, err := os.Open(filepath.Join(scratch, "pack-"+filepath.Base(name)+".pack"))
	if err != nil {
		return err
	}
	defer pack.Close()
	_, err = m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: src.gitDir}, noFiles: true, time: packTimeout, stdin: pack,
		args: []string{"index-pack", "--strict", "--stdin"},
	})
	return err
}
