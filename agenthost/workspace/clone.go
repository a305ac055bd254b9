package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/lazyregexp"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// makeForProject creates a clone if the project has commits. Otherwise the session
// works in the project's own directory.
func (m *Manager) makeForProject(ctx context.Context, rec *record, p Project) error {
	if p.InPlace {
		return m.makeShared(ctx, rec, p)
	}
	src, err := m.sourceFrom(ctx, rec.Project, rec.From)
	if err != nil {
		return err
	}
	if src == nil || src.startCommit == "" {
		if rec.From != "" {
			return errNoBranches(rec.Project)
		}
		if src != nil {
			m.log.Warn("a project without a commit has no clones: its directory is used", "project", rec.Project)
		}
		return m.makeShared(ctx, rec, p)
	}
	rec.Kind, rec.Repository, rec.Prefix, rec.Base = kindClone, src.gitDir, src.prefix, src.startCommit
	if err := m.saveRecord(rec); err != nil {
		return err
	}
	return m.addClone(ctx, rec, src)
}

// addClone makes a session's clone, at the session's branch if the project has it.
// The clone reads the project's objects and writes its own.
func (m *Manager) addClone(ctx context.Context, rec *record, src *source) error {
	if rec.State != stateReady { // remains of an interrupted attempt
		if err := m.removeTree(ctx, m.sessionIn(rec), m.rootDir(rec)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(m.mirrorDir(rec)); err != nil {
		return err
	}
	refs, err := m.chooseBranch(ctx, rec, src)
	if err != nil {
		return err
	}
	if err := m.makePrivateDir("workspaces", rec.Key); err != nil {
		return err
	}
	isFresh := refs["refs/heads/"+rec.Branch] == rec.Base
	if err := m.fillClone(ctx, rec, src, refs, true); err != nil {
		return errAddClone(rec.Project, err)
	}
	return m.beginStore(ctx, rec, src, isFresh)
}

// chooseBranch records the clone's branch and the project's object format, and
// creates the branch in the project, so that no other session takes its name. It returns
// the project's refs.
func (m *Manager) chooseBranch(ctx context.Context, rec *record, src *source) (map[string]string, error) {
	release, err := m.repoLocks.acquire(ctx, src.gitDir)
	if err != nil {
		return nil, err
	}
	defer release()
	refs, err := m.projectRefs(ctx, src)
	if err != nil {
		return nil, err
	}
	if rec.Branch == "" {
		if rec.Branch, err = newBranch(rec, refs); err != nil {
			return nil, err
		}
	}
	format, err := m.objectFormat(ctx, src)
	if err != nil {
		return nil, err
	}
	if rec.Format = ""; format != "sha1" {
		rec.Format = format
	}
	if err := m.saveRecord(rec); err != nil {
		return nil, err
	}
	return refs, errAddClone(rec.Project, m.ensureBranch(ctx, rec, src, refs))
}

// ensureBranch creates the branch of a session in its project, unless the project has it with its commit.
func (m *Manager) ensureBranch(ctx context.Context, rec *record, src *source, refs map[string]string) error {
	ref := "refs/heads/" + rec.Branch
	args := []string{"update-ref", ref, rec.Base}
	if refs[ref] == "" {
		args = append(args, strings.Repeat("0", len(rec.Base))) // the branch must not exist
	} else if intact, err := m.hasCommit(ctx, src, ref); err != nil || intact {
		return err
	}
	refs[ref] = rec.Base
	_, err := m.inProject(ctx, src, args...)
	return err
}

// inProject runs git in a project's repository, without its files.
func (m *Manager) inProject(ctx context.Context, src *source, args ...string) (string, error) {
	out, err := m.git.run(ctx,
		call{dir: m.data, repo: repository{gitDir: src.gitDir}, noFiles: true, limit: maxRefFile, args: args})
	return trimNewline(out), err
}

// fillClone makes the git directory of a clone. With checkout it also writes the
// files; otherwise the files that are there stay. It works on a directory out of reach of
// the agent, which may still run, and moves that into the workspace.
func (m *Manager) fillClone(
	ctx context.Context, rec *record, src *source, refs map[string]string, checkout bool,
) error {
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	gitDir := filepath.Join(scratch, ".git")
	if err := m.initClone(ctx, rec, scratch, gitDir); err != nil {
		return err
	}
	if err := m.fillGitDir(ctx, rec, src, refs, gitDir); err != nil {
		return err
	}
	path := m.rootDir(rec)
	fill := call{repo: repository{gitDir: gitDir}, noFiles: true, args: []string{"read-tree", "HEAD"}}
	if checkout {
		fill = call{
			repo: repository{gitDir: gitDir, workTree: path}, time: cloneTimeout, args: []string{"reset", "--quiet", "--hard"},
		}
	}
	if _, err := m.git.run(ctx, fill); err != nil {
		return err
	}
	at, err := owner.OfPath(path)
	if err != nil {
		return err
	}
	if !checkout && at != owner.Self() { // a new workspace belongs to the host until its first program starts
		if err := owner.Give(gitDir, at); err != nil {
			return err
		}
	}
	return os.Rename(gitDir, filepath.Join(path, ".git")) // it fails if the agent has put anything there
}

// initClone makes an empty repository in dir, whose git directory is gitDir.
func (m *Manager) initClone(ctx context.Context, rec *record, dir, gitDir string) error {
	if isSHA1(rec.Format) {
		return initRepository(gitDir, rec.Branch, false)
	}
	_, err := m.git.run(ctx, call{dir: dir, noFiles: true, args: []string{
		"init", "--quiet", "--template=", "--object-format=" + rec.Format, "--initial-branch=" + rec.Branch, dir,
	}})
	return err
}

// fillGitDir gives an empty git directory the refs and settings of a clone, and the
// project's objects.
func (m *Manager) fillGitDir(
	ctx context.Context, rec *record, src *source, refs map[string]string, gitDir string,
) error {
	tip := refs["refs/heads/"+rec.Branch]
	if err := errors.Join(
		writeAlternates(filepath.Join(gitDir, "objects"), filepath.Join(src.gitDir, "objects")), m.copyGitFiles(ctx, src, gitDir),
	); err != nil {
		return err
	}
	delete(refs, "refs/heads/"+rec.Branch) // commits that only this branch has count as unfinished work
	if err := m.saveStart(rec, refs, tip); err != nil {
		return err
	}
	for name := range refs {
		if isSessionBranch(name) {
			delete(refs, name)
		}
	}
	refs["refs/heads/"+rec.Branch] = tip
	if err := writeFile(filepath.Join(gitDir, "packed-refs"), packedRefs(refs)); err != nil {
		return err
	}
	return m.copyConfig(ctx, src, gitDir)
}

// isSessionBranch reports whether a ref is the branch of a session. Clones of other
// sessions do not contain it.
func isSessionBranch(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/bellhop/") || strings.HasPrefix(ref, "refs/heads/bellhop-")
}

// projectRefs returns the branches, remote branches and tags of a project.
func (m *Manager) projectRefs(ctx context.Context, src *source) (map[string]string, error) {
	out, err := m.inProject(ctx, src, "for-each-ref", "--format=%(objectname) %(refname)",
		"refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.SplitSeq(out, "\n") {
		if id, name, ok := strings.Cut(line, " "); ok && protocol.IsRefName(name) {
			refs[name] = id
		}
	}
	return refs, nil
}

// copyGitFiles copies the project's list of excluded files, and the commits at which a
// shallow history ends.
func (m *Manager) copyGitFiles(ctx context.Context, src *source, gitDir string) error {
	files, err := m.filesOfProject(ctx, src)
	if err != nil {
		return err
	}
	return errors.Join(
		writeOrRemove(filepath.Join(gitDir, "info", "exclude"), files.exclude),
		writeOrRemove(filepath.Join(gitDir, "shallow"), files.shallow),
	)
}

// copiedSettings are the settings of a project that its clones get. None of them
// names a program.
const copiedSettings = `^(remote\..*\.(url|fetch)|user\.(name|email))$`

// copiedWords are the words, in lower case, without which a repository's own settings have none of these. Git leaves
// included files out of them.
var copiedWords = [][]byte{[]byte("remote"), []byte("user")}

var userinfoOfURL = lazyregexp.New(`^([A-Za-z+.-]+://)[^/@\s]*@`)

// copyConfig gives a clone the project's remotes, without passwords, and its author.
func (m *Manager) copyConfig(ctx context.Context, src *source, gitDir string) error {
	if settings, ok := readPlain(filepath.Join(src.gitDir, "config")); ok && !containsAny(settings, copiedWords) {
		return nil
	}
	out, err := m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: src.gitDir}, noFiles: true,
		args: []string{"config", "--local", "--null", "--get-regexp", copiedSettings},
	})
	if err != nil && !exitedWith(err, 1) { // 1: there are none
		return err
	}
	var settings strings.Builder
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		if !ok {
			continue
		}
		if strings.HasSuffix(key, ".url") {
			value = userinfoOfURL.ReplaceAllString(value, "$1")
		}
		settings.WriteString(formatSetting(key, value))
	}
	config, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = config.WriteString(settings.String())
	return errors.Join(err, config.Close())
}

// quoteSetting escapes what ends a quoted name or value in a file of settings.
var quoteSetting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// formatSetting returns a setting, whose key is as git lists it, in the form of a file of settings.
func formatSetting(key, value string) string {
	section, name, _ := strings.Cut(key, ".")
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		section, name = section+` "`+quoteSetting.Replace(name[:at])+`"`, name[at+1:]
	}
	return "[" + section + "]\n\t" + name + ` = "` + quoteSetting.Replace(value) + "\"\n"
}

// repairClone makes a removed clone again from its branch in the project. Around files
// without a git directory it makes that alone. It also corrects the alternates of a clone
// whose project has moved, and removes a stale index lock.
func (m *Manager) repairClone(ctx context.Context, rec *record) error {
	src, err := m.followProject(ctx, rec)
	if err != nil {
		return err
	}
	path := m.rootDir(rec)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("restore a removed workspace from its branch", "workspace", rec.Key, "branch", rec.Branch)
		return m.addClone(ctx, rec, src)
	}
	objects := filepath.Join(src.gitDir, "objects")
	var isWhole, isLocked bool
	err = m.settled(func() (err error) {
		isWhole, isLocked, err = m.inspectGitDir(ctx, rec, objects)
		return err
	})
	if isNoRepository(err) {
		return m.restoreGitDir(ctx, rec, src)
	}
	if err != nil {
		return err
	}
	if isLocked {
		m.removeStaleLock(ctx, rec)
	}
	if isWhole {
		return nil
	}
	if err := m.repairAlternates(ctx, rec, objects); err != nil {
		m.log.Warn("the git directory of a workspace does not name its project", "workspace", rec.Key, "error", err)
	}
	return nil
}

// alternatesFile names the object directories that a repository reads beside its own.
const alternatesFile = "objects/info/alternates"

// inspectGitDir reports whether a clone reads the project's objects, and whether its index is locked. CodeConflict: its
// git directory cannot be read; of one that it does not have, isNoRepository.
func (m *Manager) inspectGitDir(ctx context.Context, rec *record, objects string) (isWhole, isLocked bool, err error) {
	agent, err := m.openGitDir(ctx, rec)
	if err != nil {
		return false, false, err
	}
	defer agent.close()
	if isLocked, err = agent.has("index.lock"); err != nil {
		return false, false, err
	}
	content, err := agent.readFile(alternatesFile, maxRefFile)
	isWhole = err == nil && strings.Contains("\n"+string(content), "\n"+objects+"\n")
	return isWhole, isLocked, nil // what cannot be read is written again
}

// restoreGitDir replaces a removed git directory, or a file in its place. Commits
// that the host did not fetch before are lost; the files stay.
func (m *Manager) restoreGitDir(ctx context.Context, rec *record, src *source) error {
	m.log.Warn("restore the git directory of a workspace", "workspace", rec.Key, "branch", rec.Branch)
	if err := m.removeName(ctx, rec, ".git"); err != nil {
		return errNoRepository(err)
	}
	if err := os.RemoveAll(m.mirrorDir(rec)); err != nil {
		return err
	}
	refs, err := m.chooseBranch(ctx, rec, src)
	if err != nil {
		return err
	}
	return m.fillClone(ctx, rec, src, refs, false)
}

// removeName removes a name in a workspace that is no directory, or an empty one.
func (m *Manager) removeName(ctx context.Context, rec *record, name string) error {
	workspace, err := m.openToRemove(ctx, m.sessionIn(rec), m.rootDir(rec))
	if err != nil {
		return err
	}
	defer workspace.close()
	if err := workspace.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return workspace.explain(err)
	}
	return nil
}

// repairAlternates makes a clone read the project's objects again. The agent can change
// its alternates at any time; the host reads the mirror, which has its own.
func (m *Manager) repairAlternates(ctx context.Context, rec *record, objects string) error {
	content := objects + "\n"
	_, err := m.runWriter(ctx, rec, m.gitDir(rec), true, []treereader.Change{{
		Path: alternatesFile, Old: treereader.Old{Any: true}, New: treereader.New{
			Mode: treereader.ModeFile, Size: int64(len(content)), Content: strings.NewReader(content), Perm: 0o600,
		},
	}})
	return err
}

func errAddClone(project string, err error) error {
	if err == nil || isGitMissing(err) {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("No clone of the project %s can be made", project),
		Hint: hintOf(err), Err: err,
	}
}

func hintOf(err error) string {
	if stderr := stderrOf(err); !lacksObjects(stderr) {
		return truncate(stderr, 300)
	}
	return hintObjects
}
