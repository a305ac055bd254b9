package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// Commit commits all changes of a session's workspace to the branch that is checked out. The request names the snapshot
// and the head of the diff that was shown, and the state must still be that. Git runs in the mirror, so no hook,
// signature or filter of the agent's repository starts. The agent's repository gets the new objects, the index and the
// branch. The commit depends on the request alone: repeating one that was committed returns its commit, also after later
// ones. CodeInvalid: no snapshot or head. CodeConflict: the files or the branch changed since. CodeNothingToCommit: there
// is no change. CodeUnmerged: a merge is not finished. CodeNoBranch: no branch is checked out. CodeBusy: another git
// command works in the workspace.
func (m *Manager) Commit(
	ctx context.Context, sessionID, project string, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	if req.Snapshot == "" {
		return nil, errNoSnapshot("snapshot")
	}
	var done *protocol.CommitResponse
	err := m.step(ctx, sessionID, project, func(ctx context.Context, rec *record) (err error) {
		done, err = m.commit(ctx, rec, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	done.Success, done.SessionID = true, sessionID
	return done, nil
}

func (m *Manager) commit(
	ctx context.Context, rec *record, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	mirror, err := m.shippedRepository(ctx, rec)
	if err != nil {
		return nil, err
	}
	at, err := m.head(ctx, mirror)
	if err != nil {
		return nil, err
	}
	if req.Head == "" {
		return nil, errNoSnapshot("head")
	}
	c := committing{Manager: m, rec: rec, mirror: mirror, at: at, req: *req}
	if c.req.At.IsZero() {
		c.req.At = m.now()
	}
	var done *protocol.CommitResponse
	err = m.withSnapshot(ctx, rec, askForIndex, func(ctx context.Context, s *snapshot) (err error) {
		c.now = s
		done, err = c.run(ctx)
		return err
	})
	if err != nil || c.isRepeat {
		return done, err
	}
	if _, err := m.repository(ctx, rec); err != nil { // also brings the commit into the project
		m.log.Warn("cannot fetch the commits of a session", "workspace", rec.Key, "error", err)
	}
	return done, nil
}

// newIndex is the index, in a scratch directory, for the agent's repository.
const newIndex = "index.new"

// askForIndex asks for all that an index says of files that a sparse checkout leaves out.
func askForIndex(r *treereader.Request) { r.Skipped = true }

// committing makes one commit.
type committing struct {
	*Manager
	rec      *record
	mirror   repository
	at       head
	req      protocol.CommitRequest
	now      *snapshot
	next     repository // the mirror with the objects of the store, and new ones in the scratch directory
	isRepeat bool
}

// run commits the snapshot to the branch that is checked out, unless the request was committed before.
func (c *committing) run(ctx context.Context) (*protocol.CommitResponse, error) {
	s := c.now
	c.next = c.mirror
	c.next.workTree, c.next.indexFile, c.next.objectDir = s.repo.workTree, s.repo.indexFile, filepath.Join(s.scratch, "objects")
	if err := writeAlternates(c.next.objectDir, filepath.Join(s.store.GitDir(), "objects"), c.mirror.objects()); err != nil {
		return nil, err
	}
	if c.req.Head != c.at.tip {
		if done, err := c.findDone(ctx); done != nil || err != nil {
			c.isRepeat = true
			return done, err
		}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	changes, err := c.changedFiles(ctx, c.next, c.at.tip, s.Tree)
	if err != nil {
		return nil, err
	}
	if s.Head.IsUnmerged {
		return nil, errUnmerged()
	}
	if len(changes) == 0 {
		return nil, c.nothingToCommit(ctx)
	}
	id, err := c.commitTree(ctx, c.at.tip, s.Tree)
	if err != nil {
		return nil, err
	}
	if err := s.store.WriteIndex(filepath.Join(s.scratch, newIndex), s.Snapshot, c.ownerOf(c.rec)); err != nil {
		return nil, err
	}
	return c.committed(id, changes), c.give(ctx, id)
}

// check returns CodeConflict unless files and branch are as they were shown, and the snapshot has all files.
func (c *committing) check() error {
	s := c.now
	switch {
	case c.req.Head != c.at.tip:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "The branch has other commits than the diff that was shown",
			Hint: "Look at the changes again",
		}
	case c.req.Snapshot != s.ID && !s.store.Has(c.req.Snapshot):
		return errForgotten()
	case c.req.Snapshot != s.ID:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "The files changed since the diff that was shown", Hint: "Look at the changes again",
		}
	case s.Head.Ref != c.at.ref || s.Head.Commit != c.at.tip:
		return errGitBusy(nil)
	}
	if left := mustRefuse(s.Snapshot); len(left) > 0 || s.More > 0 {
		return errLeftOut(left, s.More)
	}
	return nil
}

func (c *committing) committed(id string, changes []protocol.DiffFile) *protocol.CommitResponse {
	total := (&protocol.Diff{Files: changes}).Counts()
	done := &protocol.CommitResponse{
		Commit: id, Branch: c.at.branch(), Files: total.Files, Additions: total.Additions, Deletions: total.Deletions,
	}
	done.InnerRepositories, done.InnerRepositoryCount = innerOf(c.now, changes)
	return done
}

// searchedCommits is how many commits of a branch are searched for one that a request asks for.
const searchedCommits = 1000

// findDone returns the commit of the branch that the request asks for, if an earlier one has made it; nil if none has.
func (c *committing) findDone(ctx context.Context) (*protocol.CommitResponse, error) {
	out, err := c.git.run(ctx, call{repo: c.next, noFiles: true, args: []string{
		"log", "--first-parent", "--no-show-signature", "--format=%H %T %P", fmt.Sprint("--max-count=", searchedCommits),
		"--end-of-options", c.at.tip,
	}})
	if exitedWith(err, 128) {
		return nil, nil //nolint:nilnil // the agent's repository is damaged: it has no commit of the host
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		commit := strings.Fields(line)
		if len(commit) != 3 || commit[2] != c.req.Head {
			continue
		}
		id, tree := commit[0], commit[1]
		if shown, err := c.shownTree(ctx); err != nil || shown != "" && shown != tree {
			return nil, err
		}
		if made, err := c.commitTree(ctx, c.req.Head, tree); err != nil || made != id {
			return nil, err
		}
		changes, err := c.changedFiles(ctx, c.next, c.req.Head, tree)
		if err != nil {
			return nil, err
		}
		return c.committed(id, changes), nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// shownTree returns the tree of the snapshot that was shown, "" if the store no longer has it.
func (c *committing) shownTree(ctx context.Context) (string, error) {
	if !c.now.store.Has(c.req.Snapshot) {
		return "", nil
	}
	out, err := c.git.run(ctx, call{
		repo: c.next, noFiles: true, args: []string{"rev-parse", "--verify", "--end-of-options", c.req.Snapshot + "^{tree}"},
	})
	return trimNewline(out), err
}

// nothingToCommit returns CodeNothingToCommit, or CodeUnmerged if a merge is not finished.
func (c *committing) nothingToCommit(ctx context.Context) error {
	if _, err := c.runWriter(ctx, c.rec, c.gitDir(c.rec), false, nothingUnfinished()); err != nil {
		return errGiving(err)
	}
	return &protocol.Error{
		Code: protocol.CodeNothingToCommit, Message: "There is nothing to commit",
		Hint: "Everything is committed already, or ignored by the repository",
	}
}

// commitTree writes the commit into the scratch directory. It depends on nothing but its arguments and the request.
func (c *committing) commitTree(ctx context.Context, parent, tree string) (string, error) {
	out, err := c.git.run(ctx, call{
		repo: c.next, noFiles: true, stdin: strings.NewReader(c.req.Message),
		env: []string{
			"GIT_AUTHOR_NAME=" + c.req.Author.Name, "GIT_AUTHOR_EMAIL=" + c.req.Author.Email,
			fmt.Sprintf("GIT_AUTHOR_DATE=@%d +0000", c.req.At.Unix()),
			fmt.Sprintf("GIT_COMMITTER_DATE=@%d +0000", c.req.At.Unix()),
		},
		args: []string{"commit-tree", "--no-gpg-sign", "-p", parent, "-F", "-", tree},
	})
	return trimNewline(out), err
}

// give brings a commit from the scratch directory, and a new index, into the agent's repository: first the objects, then
// the index, then the branch. A crash in between leaves the changes as staged, and a repeat makes the rest.
func (c *committing) give(ctx context.Context, id string) error {
	g := giving{Manager: c.Manager, rec: c.rec}
	defer g.close()
	if err := g.objects(ctx, c.next, id, c.at.tip, c.now.scratch); err != nil {
		return err
	}
	index, info, err := g.open(filepath.Join(c.now.scratch, newIndex))
	if err != nil {
		return err
	}
	g.changes = append(g.changes, nothingUnfinished()...)
	g.changes = append(g.changes,
		treereader.Change{Path: "HEAD", Old: contentOf("ref: " + c.at.ref + "\n"), New: treereader.New{Stays: true}},
		// Git takes a file for unchanged only if it is older than the index.
		treereader.Change{Path: "index", Old: treereader.Old{Any: true}, Lock: true, StaleBefore: c.staleBefore(), New: treereader.New{
			Mode: treereader.ModeFile, Size: info.Size(), Content: index, Modified: info.ModTime().UnixNano(),
		}},
		c.refChange(c.at.ref, contentOf(c.at.tip+"\n"), id),
	)
	_, err = c.runWriter(ctx, c.rec, c.gitDir(c.rec), true, g.changes)
	if refusal := (*treereader.Refusal)(nil); !errors.As(err, &refusal) || refusal.Why != treereader.HasChanged || refusal.Path != c.at.ref {
		return errGiving(err)
	}
	// The branch is in packed-refs, or has moved.
	packed, err := c.runWriter(ctx, c.rec, c.gitDir(c.rec), false, []treereader.Change{
		{Path: "packed-refs", Old: treereader.Old{Any: true}, New: treereader.New{Stays: true, Told: true}},
	})
	if err != nil {
		return errGiving(err)
	}
	if !bytes.Contains(append([]byte("\n"), packed...), []byte("\n"+c.at.tip+" "+c.at.ref+"\n")) {
		return errGitBusy(nil)
	}
	if err := g.rewind(); err != nil {
		return err
	}
	g.changes[len(g.changes)-1] = c.refChange(c.at.ref, treereader.Old{}, id)
	g.changes = append(g.changes, treereader.Change{
		Path: "packed-refs", Old: contentOf(string(packed)), New: treereader.New{Stays: true},
	})
	_, err = c.runWriter(ctx, c.rec, c.gitDir(c.rec), true, g.changes)
	return errGiving(err)
}

// errGiving explains why the agent's repository was not changed.
func errGiving(err error) error {
	refusal := (*treereader.Refusal)(nil)
	switch {
	case !errors.As(err, &refusal):
		return err
	case slices.Contains(unfinishedFiles, refusal.Path):
		return errUnmerged()
	case refusal.Why == treereader.HasChanged:
		return errGitBusy(err)
	case refusal.Why == treereader.IsNoFile && refusal.Path != "":
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("%q in the workspace's git directory is no file", refusal.Path), Err: err,
			Hint: "Its .git directory was changed. Ask the agent to repair it",
		}
	}
	return explain(refusal)
}

// nothingUnfinished expects that no merge, rebase or the like is unfinished.
func nothingUnfinished() []treereader.Change {
	var all []treereader.Change
	for _, name := range unfinishedFiles {
		all = append(all, treereader.Change{Path: name, New: treereader.New{Stays: true}})
	}
	return all
}

func errGitBusy(err error) *protocol.Error {
	return &protocol.Error{
		Code: protocol.CodeBusy, Message: "Another git command works in the workspace", Err: err,
		Hint: "Try again in a moment. A lock that a killed git left is removed after two minutes",
	}
}

// errUnwritable makes a failed access to a file and a failed run of git CodeConflict, because an agent can cause both: it can
// put a directory where git has a file, and remove objects. Other errors stay as they are.
func errUnwritable(err error) error {
	file, run, exit := (*fs.PathError)(nil), (*gitError)(nil), (*exec.ExitError)(nil)
	isOfGit := errors.As(err, &run) && errors.As(err, &exit)
	if known := (*protocol.Error)(nil); errors.As(err, &known) || !isOfGit && !errors.As(err, &file) {
		return err
	}
	if isOfGit && lacksObjects(run.stderr) {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "Git has not all objects of the commits that it needs", Err: err,
			Hint: hintObjects,
		}
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The workspace's repository cannot be used", Err: err,
		Hint: "Its .git directory was changed, or the disk of the agent host is full. Ask the agent to run git fsck",
	}
}

// hintObjects is what to do about objects that are missing.
const hintObjects = "The repository of the workspace or the project is a partial clone, or damaged. Run git fetch --refetch there, or git fsck"

// lacksObjects reports whether git complains about objects that are missing or damaged.
func lacksObjects(stderr string) bool {
	for _, sign := range []string{
		"unable to read", "missing blob", "missing tree", "missing object", "bad object", "bad tree object", "not a tree object",
		"could not parse", "Could not read", "Failed to traverse", "is corrupt", "promisor", "inflate", "not a valid object",
	} {
		if strings.Contains(stderr, sign) {
			return true
		}
	}
	return false
}
