package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// Commit commits all changes of a session's workspace to the branch that is checked out. Git runs in the
// mirror, so no hook, signature or filter of the agent's repository starts. The agent's repository gets
// the new objects, the index and the branch. Repeating a request that was committed returns its commit.
// CodeNothingToCommit: there is no change. CodeUnmerged: a merge is not finished. CodeNoBranch: no branch
// is checked out. CodeBusy: another git command works in the workspace.
func (m *Manager) Commit(
	ctx context.Context, sessionID, project string, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
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
	agent, err := m.openGitDir(rec)
	if err != nil {
		return nil, err
	}
	defer agent.Close()
	at, err := m.head(ctx, mirror)
	if err != nil {
		return nil, err
	}
	var done *protocol.CommitResponse
	err = m.withSnapshot(ctx, rec, askForIndex, func(ctx context.Context, s *snapshot) (err error) {
		done, err = m.commitSnapshot(ctx, rec, agent, mirror, at, s, req)
		return err
	})
	if err != nil || done.Commit == at.tip {
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

// commitSnapshot commits a snapshot to the branch that is checked out. If the branch has all of it, the commit is that
// of the branch.
func (m *Manager) commitSnapshot(
	ctx context.Context, rec *record, agent *os.Root, mirror repository, at head, s *snapshot, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	if err := checkMerged(agent, s); err != nil {
		return nil, err
	}
	if left := mustRefuse(s.Snapshot); len(left) > 0 || s.More > 0 {
		return nil, errLeftOut(left, s.More)
	}
	next := mirror
	next.workTree, next.indexFile, next.objectDir = s.repo.workTree, s.repo.indexFile, filepath.Join(s.scratch, "objects")
	if err := writeAlternates(next.objectDir, filepath.Join(s.store.GitDir(), "objects"), mirror.objects()); err != nil {
		return nil, err
	}
	changes := &protocol.Diff{}
	if err := m.readFiles(ctx, next, at.tip, s.Tree, changes); err != nil {
		return nil, err
	}
	if len(changes.Files) == 0 {
		return m.committedBefore(ctx, next, at, req)
	}
	id, err := m.commitTree(ctx, next, at.tip, s.Tree, req)
	if err != nil {
		return nil, err
	}
	if err := s.store.WriteIndex(filepath.Join(s.scratch, newIndex), s.Snapshot, m.ownerOf(rec)); err != nil {
		return nil, err
	}
	return committed(at, id, changes), m.giveCommit(ctx, agent, next, at, id, s.scratch)
}

func committed(at head, id string, changes *protocol.Diff) *protocol.CommitResponse {
	done := &protocol.CommitResponse{Commit: id, Branch: at.branch(), Files: len(changes.Files)}
	for i := range changes.Files {
		done.Additions += changes.Files[i].Additions
		done.Deletions += changes.Files[i].Deletions
	}
	return done
}

// committedBefore returns the branch's last commit if it is what the request asks for: the answer to
// an earlier request was lost.
func (m *Manager) committedBefore(
	ctx context.Context, mirror repository, at head, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	nothing := &protocol.Error{
		Code: protocol.CodeNothingToCommit, Message: "There is nothing to commit",
		Hint: "Everything is committed already, or ignored by the repository",
	}
	out, err := m.git.run(ctx, call{
		repo: mirror, noFiles: true, limit: 2 * protocol.MaxCommitMessage,
		args: []string{"log", "--no-walk", "--no-show-signature", "--format=%ae%n%ce%n%P%n%B", "--end-of-options", at.tip},
	})
	if err != nil {
		return nil, err
	}
	lines := strings.SplitN(string(out), "\n", 4) // author, committer (the host), parents, message
	if len(lines) != 4 || lines[0] != req.Author.Email || lines[1] != authorEmail || strings.Contains(lines[2], " ") ||
		lines[2] == "" || strings.TrimRight(lines[3], "\n")+"\n" != req.Message {
		return nil, nothing
	}
	changes := &protocol.Diff{}
	if err := m.readFiles(ctx, mirror, lines[2], at.tip, changes); err != nil {
		return nil, err
	}
	return committed(at, at.tip, changes), nil
}

// commitTree writes the commit into the scratch directory of repo.
func (m *Manager) commitTree(
	ctx context.Context, repo repository, parent, tree string, req *protocol.CommitRequest,
) (string, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, noFiles: true, stdin: strings.NewReader(req.Message),
		env: []string{
			"GIT_AUTHOR_NAME=" + req.Author.Name, "GIT_AUTHOR_EMAIL=" + req.Author.Email,
			fmt.Sprintf("GIT_AUTHOR_DATE=@%d +0000", m.now().Unix()),
			fmt.Sprintf("GIT_COMMITTER_DATE=@%d +0000", m.now().Unix()),
		},
		args: []string{"commit-tree", "--no-gpg-sign", "-p", parent, "-F", "-", tree},
	})
	return trimNewline(out), err
}

// giveCommit brings a commit from the scratch directory of repo, and a new index, into the agent's repository: first
// the objects, then the index, then the branch. A crash in between leaves the changes as staged.
func (m *Manager) giveCommit(ctx context.Context, agent *os.Root, repo repository, at head, id, scratch string) error {
	if err := m.giveObjects(ctx, agent, repo, id, at.tip, scratch); err != nil {
		return err
	}
	m.removeStaleLock(agent, "index.lock")
	m.removeStaleLock(agent, at.ref+".lock")
	index, err := lockFile(agent, "index")
	if err != nil {
		return err
	}
	defer index.drop()
	if err := owner.MkdirAll(agent, path.Dir(at.ref), 0o777); err != nil {
		return err
	}
	branch, err := lockFile(agent, at.ref)
	if err != nil {
		return err
	}
	defer branch.drop()
	if err := checkUnmoved(agent, at); err != nil {
		return err
	}
	source, err := os.Open(filepath.Join(scratch, newIndex))
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := errors.Join(index.fill(source), branch.fill(strings.NewReader(id+"\n"))); err != nil {
		return err
	}
	// Git takes a file for unchanged only if it is older than the index.
	if err := agent.Chtimes("index.lock", info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return errors.Join(index.replace(), branch.replace())
}

// checkUnmoved returns CodeBusy if the agent's repository has another branch or commit than was read.
func checkUnmoved(agent *os.Root, at head) error {
	content, err := readFile(agent, "HEAD", maxLooseRef)
	if err != nil {
		return err
	}
	refs, err := readRefs(agent)
	if err == nil && (strings.TrimSpace(string(content)) != "ref: "+at.ref || refs[at.ref] != at.tip) {
		err = errGitBusy(nil)
	}
	return err
}

func errGitBusy(err error) error {
	return &protocol.Error{
		Code: protocol.CodeBusy, Message: "Another git command works in the workspace", Err: err,
		Hint: "Try again in a moment. A lock that a killed git left is removed after two minutes",
	}
}

// errUnwritable makes a failed access to a file CodeConflict, because an agent can cause it: it can put a
// directory where git has a file. Other errors stay as they are.
func errUnwritable(err error) error {
	if failed := (*fs.PathError)(nil); !errors.As(err, &failed) {
		return err
	}
	if known := (*protocol.Error)(nil); errors.As(err, &known) {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The workspace's repository cannot be used", Err: err,
		Hint: "Its .git directory was changed, or the disk of the agent host is full. Ask the agent to run git fsck",
	}
}

// giveObjects packs the objects of a commit that its parent does not have, and writes the pack into the
// agent's repository. The index of the pack comes last: git reads a pack only through its index.
func (m *Manager) giveObjects(ctx context.Context, agent *os.Root, repo repository, id, parent, scratch string) error {
	base := filepath.Join(scratch, "pack")
	out, err := m.git.run(ctx, call{
		repo: repo, noFiles: true, time: packTimeout, stdin: strings.NewReader(id + "\n^" + parent + "\n"),
		args: []string{"pack-objects", "--quiet", "--revs", "--non-empty", "--delta-base-offset", base},
	})
	name := filepath.Base(trimNewline(out))
	if err != nil || trimNewline(out) == "" {
		return err
	}
	if err := owner.MkdirAll(agent, "objects/pack", 0o777); err != nil {
		return err
	}
	for _, suffix := range []string{".pack", ".idx"} {
		source, err := os.Open(base + "-" + name + suffix)
		if err != nil {
			return err
		}
		err = errors.Join(placeFile(agent, "objects/pack/pack-"+name+suffix, source, 0o444), source.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// placeFile writes a file below a directory of the agent under another name first, so that a reader never
// sees a part of it.
func placeFile(root *os.Root, name string, content io.Reader, mode fs.FileMode) error {
	next := path.Join(path.Dir(name), ".bellhop-"+protocol.NewID())
	file, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close(), owner.Inherit(root, next)); err == nil {
		err = root.Rename(next, name)
	}
	if err != nil {
		_ = root.Remove(next)
	}
	return err
}

// lockedFile is a file of the agent's git directory with git's own lock on it.
type lockedFile struct {
	root *os.Root
	name string
	file *os.File // the lock; nil once it is gone
}

// lockFile takes git's lock on a file. CodeBusy: another git command has it.
func lockFile(root *os.Root, name string) (*lockedFile, error) {
	file, err := root.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, errGitBusy(err)
	}
	if err != nil {
		return nil, err
	}
	locked := &lockedFile{root, name, file}
	if err := owner.Inherit(root, name+".lock"); err != nil {
		locked.drop()
		return nil, err
	}
	return locked, nil
}

func (l *lockedFile) fill(content io.Reader) error {
	_, err := io.Copy(l.file, content)
	return err
}

// replace makes the content of the lock that of the file, and releases the lock.
func (l *lockedFile) replace() error {
	err := l.file.Close()
	if err == nil {
		err = l.root.Rename(l.name+".lock", l.name)
	}
	if err == nil {
		l.file = nil
	}
	return err
}

// setRef gives a ref of the agent's repository a commit. CodeBusy: another git command changes it.
func setRef(agent *os.Root, ref, id string) error {
	if err := owner.MkdirAll(agent, path.Dir(ref), 0o777); err != nil {
		return err
	}
	file, err := lockFile(agent, ref)
	if err != nil {
		return err
	}
	defer file.drop()
	if err := file.fill(strings.NewReader(id + "\n")); err != nil {
		return err
	}
	return file.replace()
}

// drop releases the lock, unless replace has.
func (l *lockedFile) drop() {
	if l.file != nil {
		_ = l.file.Close()
		_ = l.root.Remove(l.name + ".lock")
	}
}
