package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bellhop/protocol"
)

// pushTimeout bounds a push, with the question before it what the remote has.
const pushTimeout = 100 * time.Second

// Push pushes the branch that a session's workspace has checked out to the remote of its project. Git runs in
// the mirror, so neither hooks nor settings of the agent's repository count. A push that would remove commits
// is refused unless the request names them, and so is one that names a commit of a submodule which no remote has. own is the user's own token, nil for the host's. Repeating
// a request gives the same answer. CodeNoRemote, CodeNoBranch. CodeDivergedBranch: the remote has other commits.
// CodePushRejected: the remote refuses. CodeRemoteFailed: the remote cannot be reached.
func (m *Manager) Push(
	ctx context.Context, sessionID, project string, req *protocol.PushRequest, own *protocol.ForgeCredential,
) (*protocol.PushResponse, error) {
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
	done, err := m.push(ctx, rec, to, req)
	if err != nil {
		return nil, errUnwritable(err)
	}
	done.Success, done.SessionID, done.Remote = true, sessionID, to.shown()
	return done, nil
}

func (m *Manager) push(
	ctx context.Context, rec *record, to *destination, req *protocol.PushRequest,
) (*protocol.PushResponse, error) {
	mirror, at, base, err := m.outgoing(ctx, rec)
	if err != nil {
		return nil, err
	}
	if base == at.branch() {
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("The workspace has the project's branch %q checked out", base),
			Hint: "Ask the agent to put its commits on a branch of their own, and try again",
		}
	}
	theirs, baseTip, err := m.compareRemote(ctx, rec, mirror, to, at, base)
	if err == nil {
		err = m.saveRecord(rec)
	}
	if err != nil {
		return nil, err
	}
	done := &protocol.PushResponse{Commit: at.tip, Branch: at.branch()}
	switch {
	case rec.Pushed.Diverged != "" && rec.Pushed.Diverged != req.Replaces:
		return nil, errDiverged(at, theirs)
	case rec.Pushed.Diverged != "":
		done.Replaced = theirs
	}
	if theirs != at.tip {
		if err := m.checkLinks(ctx, rec, mirror, at.tip, base, func() (string, error) { return baseTip, nil }); err != nil {
			return nil, err
		}
		if err := m.sendBranch(ctx, mirror, to, at, done.Replaced); err != nil {
			return nil, err
		}
	}
	rec.Pushed.Commit, rec.Pushed.Diverged = at.tip, ""
	m.showPushed(ctx, rec, at)
	return done, m.saveRecord(rec)
}

// outgoing returns the mirror of a workspace, the branch that is checked out, and the base that it is meant for.
func (m *Manager) outgoing(ctx context.Context, rec *record) (mirror repository, at head, base string, err error) {
	if mirror, err = m.shippedRepository(ctx, rec); err != nil {
		return mirror, at, "", err
	}
	if at, err = m.head(ctx, mirror); err != nil {
		return mirror, at, "", err
	}
	base, err = m.base(ctx, rec)
	return mirror, at, base, err
}

// compareRemote updates what the record says about the remote, and returns the commits that the branch and the base have
// there, "" if they are not there.
func (m *Manager) compareRemote(
	ctx context.Context, rec *record, mirror repository, to *destination, at head, base string,
) (theirs, baseTip string, err error) {
	refs, err := m.remoteRefs(ctx, to, at.ref, "refs/heads/"+base)
	if err != nil {
		return "", "", err
	}
	next := &pushed{Branch: at.branch()}
	if before := rec.Pushed; before != nil && before.Branch == next.Branch {
		next.Commit, next.PullRequest = before.Commit, before.PullRequest
	}
	theirs, baseTip = refs[at.ref], refs["refs/heads/"+base]
	if next.Diverged, err = m.unlessIn(ctx, mirror, at, theirs); err != nil {
		return "", "", err
	}
	next.Base, err = m.unlessIn(ctx, mirror, at, baseTip)
	rec.Pushed = next
	return theirs, baseTip, err
}

// remoteRefs returns the commits that refs have at a remote, without those that are not there.
func (m *Manager) remoteRefs(ctx context.Context, to *destination, names ...string) (map[string]string, error) {
	args := []string{"ls-remote", "--quiet", "--heads", "--upload-pack=git-upload-pack", "--end-of-options", to.address}
	out, err := m.git.run(ctx, call{
		dir: m.data, noFiles: true, connects: true, config: to.settings(), time: m.pushTimeout, limit: 4 << 20,
		args: append(args, names...),
	})
	if err != nil {
		return nil, errRemote(ctx, to, err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && protocol.IsCommitID(id) {
			refs[name] = id
		}
	}
	return refs, nil
}

// unlessIn returns a commit, or "" if the branch contains it.
func (m *Manager) unlessIn(ctx context.Context, mirror repository, at head, commit string) (string, error) {
	if commit == "" {
		return "", nil
	}
	_, err := m.git.run(ctx, call{
		repo: mirror, noFiles: true, args: []string{"merge-base", "--is-ancestor", "--end-of-options", commit, at.tip},
	})
	if exitedWith(err, 1) || exitedWith(err, 128) { // 128: the repository does not have it
		return commit, nil
	}
	return "", err
}

func errDiverged(at head, theirs string) error {
	return &protocol.Error{
		Code: protocol.CodeDivergedBranch, Message: fmt.Sprintf("The remote's branch %q has other commits", at.branch()),
		Hint: "Ask the agent to merge them. Only a push that replaces " + theirs + " would remove them",
	}
}

// sendBranch pushes the branch to the remote. If replaced is not "", the push removes commits, but only if the
// remote's branch is still at that commit.
func (m *Manager) sendBranch(ctx context.Context, mirror repository, to *destination, at head, replaced string) error {
	args := []string{
		"push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no",
		"--receive-pack=git-receive-pack",
	}
	if replaced != "" {
		args = append(args, "--force-with-lease="+at.ref+":"+replaced)
	}
	out, err := m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: mirror.gitDir}, noFiles: true, connects: true, config: to.settings(),
		time: m.pushTimeout, args: append(args, "--end-of-options", to.address, at.tip+":"+at.ref),
	})
	if err == nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if status, ok := strings.CutPrefix(line, "!\t"); ok {
			return errNotTaken(to, at, status, err)
		}
	}
	return errRemote(ctx, to, err)
}

// errNotTaken explains a line of git's output about a branch that the remote did not take.
func errNotTaken(to *destination, at head, status string, err error) error {
	summary := status[strings.LastIndexByte(strings.TrimRight(status, "\n"), '\t')+1:]
	if strings.HasPrefix(summary, "[rejected]") { // the branch has just moved
		return &protocol.Error{
			Code: protocol.CodeDivergedBranch, Message: fmt.Sprintf("The remote's branch %q has just been moved", at.branch()),
			Hint: "Push again to see what it has now", Err: errors.New(to.hide(err.Error())),
		}
	}
	return &protocol.Error{
		Code: protocol.CodePushRejected, Message: "The remote refused the push: " + protocol.PlainText(to.hide(summary), 200),
		Hint: protocol.PlainText(to.hide(remoteLines(stderrOf(err))), 400), Err: errors.New(to.hide(err.Error())),
	}
}

// remoteLines returns what hooks of the remote wrote.
func remoteLines(stderr string) string {
	var lines []string
	for line := range strings.SplitSeq(stderr, "\n") {
		if text, ok := strings.CutPrefix(line, "remote:"); ok && strings.TrimSpace(text) != "" {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return strings.Join(lines, "\n")
}

// errRemote explains why git could not work with a remote.
func errRemote(ctx context.Context, to *destination, err error) error {
	if isGitMissing(err) {
		return err
	}
	failed := &protocol.Error{
		Code: protocol.CodeRemoteFailed, Message: "The remote cannot be reached",
		Hint: protocol.PlainText(to.hide(stderrOf(err)), 400), Err: errors.New(to.hide(err.Error())),
	}
	switch stderr := stderrOf(err); {
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		failed.Message = "The remote did not answer in time"
		failed.Hint = "Try again later, or check the remote's address and the network of the agent host"
	case isDenied(stderr) && to.isOwn:
		failed.Message = "The remote refused your own token"
		failed.Hint = "It is wrong, expired or revoked: replace it in the settings of the console. " + failed.Hint
	case isDenied(stderr):
		failed.Message = "The remote refused the credentials of the agent host"
		failed.Hint = "The operator gives it a token under forges: in its configuration, or a key for ssh. " + failed.Hint
	case strings.Contains(stderr, "certificate"):
		failed.Message = "The certificate of the remote is not trusted"
	case to.local != "" && strings.Contains(stderr, "does not appear to be a git repository"):
		failed.Message = "The remote of the project is no git repository"
	}
	failed.Hint = cmp.Or(failed.Hint, "The log of the agent host says more")
	return failed
}

func isDenied(stderr string) bool {
	for _, sign := range []string{
		"Authentication failed", "could not read Username", "could not read Password", "Permission denied (",
		"error: 401", "error: 403", "Host key verification failed",
	} {
		if strings.Contains(stderr, sign) {
			return true
		}
	}
	return false
}

// showPushed lets git in the workspace know what the remote has, as after a push of its own.
func (m *Manager) showPushed(ctx context.Context, rec *record, at head) {
	g := giving{Manager: m, rec: rec}
	g.ref("refs/remotes/origin/"+at.branch(), at.tip)
	if err := g.write(ctx); err != nil {
		m.log.Warn("the workspace does not know what was pushed", "workspace", rec.Key, "error", err)
	}
}
