package workspace

import (
	"context"
	"fmt"

	"bellhop/protocol"
)

// DirFrom is Dir for a session that starts from a branch of its project. Once the session's
// workspace is made, it keeps the branch. CodeNoBranch: the project has no such branch. CodeInvalid:
// branch is not the name of one, or sessions of this project start from none. CodeConflict: the
// session began from another branch.
func (m *Manager) DirFrom(ctx context.Context, sessionID, project, branch string) (dir, stateDir string, err error) {
	if !plainName(sessionID) {
		return "", "", errSessionID()
	}
	if err := protocol.CheckBranch(branch); err != nil {
		return "", "", err
	}
	if project == "" {
		return "", "", errNoBranches(project)
	}
	if _, err := m.project(project); err != nil {
		return "", "", err
	}
	stateDir = m.dataPath("state", sessionID)
	if rec, err := m.existingRecord(sessionID, project); err == nil && rec.State == stateReady && rec.From == branch {
		return m.workingDir(rec), stateDir, nil // a later Dir repairs it
	}
	dir, err = m.runOnce(ctx, sessionID+"\x00"+project+"\x00"+branch, func(ctx context.Context) (string, error) {
		return m.prepareSession(ctx, sessionID, project, branch)
	})
	return dir, stateDir, err
}

// startFrom records the branch that a session asked to start from; "" keeps the record's.
func (rec *record) startFrom(branch string) error {
	switch {
	case branch == "" || branch == rec.From:
		return nil
	case rec.State == stateReady || rec.Branch != "":
		return errOtherBranch(rec.From)
	}
	rec.From = branch
	return nil
}

// canBranch returns an error if the workspace of a record cannot start from the branch that it names.
func (m *Manager) canBranch(rec *record) error {
	if rec.From != "" && (rec.Project == "" || m.projects[rec.Project].InPlace) {
		return errNoBranches(rec.Project)
	}
	return nil
}

// branchCommit returns the last commit of a branch. Of a project that the host clones, the remote's
// branch counts. A branch of another session is not found: its work may be another user's.
func (m *Manager) branchCommit(
	ctx context.Context, name string, p Project, src *source, branch string,
) (string, error) {
	refs := []string{"refs/heads/" + branch, "refs/remotes/origin/" + branch}
	if p.Clone != "" {
		refs[0], refs[1] = refs[1], refs[0]
	}
	if isSessionBranch("refs/heads/" + branch) {
		return "", errBranchMissing(name, branch)
	}
	commit, err := m.firstCommit(ctx, p, refs)
	if err == nil && commit == "" {
		err = errBranchMissing(name, branch)
	}
	if err == nil && src.prefix != "" {
		_, err = m.inProject(ctx, src, "cat-file", "-e", commit+":"+src.prefix)
		if exitedWith(err, 1) || exitedWith(err, 128) {
			err = errNoDirectory(name, branch, src.prefix)
		}
	}
	return commit, err
}

func errNoDirectory(project, branch, dir string) error {
	return &protocol.Error{
		Code: protocol.CodeNoBranch, Message: fmt.Sprintf("The branch %q has no directory %s", branch, dir),
		Hint: fmt.Sprintf("The project %s is the directory %s, which the branch %q does not have: choose another branch",
			project, dir, branch),
	}
}

// errBranchMissing repeats the branch in the hint, because brokers show a hint of a host in an
// error of their own.
func errBranchMissing(project, branch string) error {
	return &protocol.Error{
		Code: protocol.CodeNoBranch, Message: fmt.Sprintf("The project %s has no branch %q", project, branch),
		Hint: fmt.Sprintf("The project %s has no branch %q on this host: choose one that it has, or push it first",
			project, branch),
	}
}

func errNoBranches(project string) error {
	if project == "" {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "A session without a project starts from no branch",
			Hint: "Name the project that the branch is of",
		}
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("Sessions of the project %s start from no branch", project),
		Hint: fmt.Sprintf("They work in the own directory of the project %s, with what is checked out there: "+
			"leave the branch out", project),
	}
}

func errOtherBranch(from string) error {
	began := "the project's default"
	if from != "" {
		began = fmt.Sprintf("the branch %q", from)
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The session started from " + began,
		Hint: "A task keeps the branch that it started from, which is " + began + ": create another task",
	}
}
