package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

const (
	pathsAge      = 5 * time.Second // a younger list of a session is not read again
	pathsTimeout  = 20 * time.Second
	listingsAtAll = 8 // lists that are remembered
)

// listing is the files of a workspace, or of a project at a commit.
type listing struct {
	key     string
	paths   []string
	partial bool // git had more
	readAt  time.Time
}

// listings remembers the last lists, the newest last: a list is searched at each letter that a user types.
type listings struct {
	mu   sync.Mutex
	last []*listing
}

// Paths returns the files of a session's workspace that match a query best: those that git tracks, and
// new ones that it does not ignore. CodeNotFound: the session has no workspace.
func (m *Manager) Paths(ctx context.Context, sessionID, project, query string) (*protocol.PathList, error) {
	if err := protocol.CheckPathQuery(query); err != nil {
		return nil, err
	}
	rec, err := m.existingRecord(sessionID, project)
	if err != nil {
		return nil, err
	}
	if rec.State != stateReady {
		return nil, errNoWorkspace()
	}
	return m.searchPaths(ctx, rec, "session\x00"+rec.Key, pathsAge, query, func(ctx context.Context) (*listing, error) {
		return m.listWorkTree(ctx, rec)
	})
}

// ProjectPaths returns the files of a project's branch that match a query best; branch "" is the project's
// default. It uses no network. CodeNoBranch: the project has no such branch; CodeInvalid: no such project.
func (m *Manager) ProjectPaths(ctx context.Context, project, branch, query string) (*protocol.PathList, error) {
	p, err := m.project(project)
	if err == nil {
		err = protocol.CheckPathQuery(query)
	}
	if err == nil && branch != "" {
		err = protocol.CheckBranch(branch)
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(p.Path); p.Clone != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, errNoFiles(project)
	}
	src, err := m.source(ctx, project)
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errNoFiles(project)
	}
	commit, err := m.commitOf(ctx, project, p, src, branch)
	if err != nil {
		return nil, err
	}
	rec := &record{Key: "~" + project, Kind: kindShared, Path: p.Path, Project: project, Format: src.format}
	if commit == "" || p.InPlace {
		return m.searchPaths(ctx, rec, "directory\x00"+project, pathsAge, query, func(ctx context.Context) (*listing, error) {
			return m.listInPlace(ctx, src, rec)
		})
	}
	tree := commit + ":" + src.prefix
	return m.searchPaths(ctx, rec, "tree\x00"+project+"\x00"+tree, time.Hour,
		query, func(ctx context.Context) (*listing, error) {
			return m.listFiles(ctx, call{
				dir: src.gitDir, repo: repository{gitDir: src.gitDir}, noFiles: true,
				args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", tree},
			}, "")
		})
}

func (m *Manager) commitOf(ctx context.Context, name string, p Project, src *source, branch string) (string, error) {
	if branch != "" {
		return m.branchCommit(ctx, name, p, src, branch)
	}
	return m.startCommit(ctx, name, p)
}

func errNoFiles(project string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The files of the project %s are not known", project),
		Hint: "It is no git repository, or was not cloned yet. Its files are listed once a task has begun in it",
	}
}

// names are the files of a work tree that git tracks, and new ones that it does not ignore.
type names struct {
	paths   []string // sorted
	leftOut int      // files that cannot be read, or are too large
}

// names reads which files a workspace has, without their content. exclude is a list of ignored files.
func (m *Manager) names(ctx context.Context, rec *record, exclude string) (*names, error) {
	found := &names{}
	err := m.eachName(ctx, rec, &treereader.Request{Exclude: exclude}, func(fact treereader.Fact) {
		switch f := fact.(type) {
		case treereader.Name:
			found.paths = append(found.paths, f.Path)
		case treereader.LeftOut:
			found.leftOut++
		case treereader.MoreLeftOut:
			found.leftOut += f.Count
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(found.paths)
	return found, nil
}

// eachName calls tell with each fact about the names of a workspace.
func (m *Manager) eachName(ctx context.Context, rec *record, r *treereader.Request, tell func(treereader.Fact)) error {
	ctx, cancel := context.WithTimeout(ctx, pathsTimeout)
	defer cancel()
	r.Root, r.HashSize, r.Limits, r.NamesOnly = m.rootDir(rec), 20, m.limits, true
	if info, err := os.Lstat(r.Root); err != nil || !info.IsDir() {
		return errWorkspaceGone(err)
	}
	if !isSHA1(rec.Format) {
		r.HashSize = 32
	}
	read, err := m.reader(rec, r)
	if err != nil {
		return err
	}
	facts, err := read(ctx, nil)
	if err != nil {
		return m.errReading(err)
	}
	defer facts.Close()
	for {
		fact, err := facts.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return m.errReading(err)
		}
		tell(fact)
	}
}

// EachFile calls each with the path of every file below the working directory of a session, and whether git ignores it.
// What the session's programs cannot read either is left out. CodeNotFound: the session has no workspace. CodeConflict: it
// cannot be read, has too many files, or some that are not seen, or takes too long.
func (m *Manager) EachFile(
	ctx context.Context, sessionID, project string, each func(path string, isIgnored bool),
) error {
	rec, err := m.existingRecord(sessionID, project)
	if err == nil && rec.State != stateReady {
		err = errNoWorkspace()
	}
	if err != nil {
		return err
	}
	release, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return err
	}
	defer release()
	exclude, err := m.excludeOf(rec)
	if err != nil {
		return err
	}
	prefix := rec.Prefix
	if prefix != "" {
		prefix += "/"
	}
	var unseen error
	err = m.eachName(ctx, rec, &treereader.Request{Exclude: exclude, Ignored: true}, func(fact treereader.Fact) {
		switch f := fact.(type) {
		case treereader.Name:
			if path, ok := strings.CutPrefix(f.Path, prefix); ok {
				each(path, f.IsIgnored)
			}
		case treereader.LeftOut:
			if slices.Contains(seenByPrograms, f.Reason) {
				unseen = errUnseen(fmt.Sprintf("%q %s", truncate(f.Path, 200), f.Reason))
			}
		case treereader.MoreLeftOut:
			unseen = errUnseen(fmt.Sprintf("%d more names", f.Count))
		}
	})
	return cmp.Or(err, unseen)
}

func errUnseen(what string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The host does not see all files of the workspace: " + what,
		Hint: "Programs of the session may read them all the same",
	}
}

// seenByPrograms are why a reader leaves out what a program of the session would read.
var seenByPrograms = []treereader.Reason{
	treereader.TooDeep, treereader.PathTooLong, treereader.OtherFileSystem, treereader.Unstable,
}

// listWorkTree lists the names of a workspace.
func (m *Manager) listWorkTree(ctx context.Context, rec *record) (*listing, error) {
	exclude, err := m.excludeOf(rec)
	if err != nil {
		return nil, err
	}
	found, err := m.names(ctx, rec, exclude)
	if err != nil {
		return nil, err
	}
	return &listing{paths: namesAndDirectories(strings.Join(found.paths, "\x00"), rec.Prefix)}, nil
}

// listInPlace lists the names of a project's own directory, whatever sessions work there.
func (m *Manager) listInPlace(ctx context.Context, src *source, rec *record) (*listing, error) {
	files, err := m.filesOfProject(ctx, src)
	if err != nil {
		return nil, err
	}
	found, err := m.names(ctx, rec, string(files.exclude))
	if err != nil {
		return nil, err
	}
	return &listing{paths: namesAndDirectories(strings.Join(found.paths, "\x00"), "")}, nil
}

func (m *Manager) listFiles(ctx context.Context, c call, prefix string) (*listing, error) {
	c.limit, c.time = maxListing, pathsTimeout
	out, err := m.git.run(ctx, c)
	partial := errors.Is(err, errOutputLimit)
	if err != nil && !partial {
		return nil, err
	}
	names := string(out)
	if partial { // the last name is cut
		names = names[:strings.LastIndexByte(names, 0)+1]
	}
	return &listing{paths: namesAndDirectories(names, prefix), partial: partial}, nil
}

// searchPaths searches in a remembered list that is not older than age, or in a new one.
func (m *Manager) searchPaths(
	ctx context.Context, rec *record, key string, age time.Duration, query string, read func(context.Context) (*listing, error),
) (*protocol.PathList, error) {
	found := m.listings.find(key, m.now().Add(-age))
	if found == nil {
		release, err := m.acquireSlot(ctx, rec)
		if err != nil {
			return nil, err
		}
		defer release()
		if found = m.listings.find(key, m.now().Add(-age)); found == nil { // another request may have read it
			if found, err = read(ctx); err != nil {
				return nil, err
			}
			found.key, found.readAt = key, m.now()
			m.listings.add(found)
		}
	}
	list := search(found.paths, query)
	list.More = list.More || found.partial
	return list, nil
}

func (l *listings) find(key string, notBefore time.Time) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.last {
		if known.key == key && known.readAt.After(notBefore) {
			return known
		}
	}
	return nil
}

func (l *listings) add(read *listing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(slices.DeleteFunc(l.last, func(known *listing) bool { return known.key == read.key }), read)
	if len(l.last) > listingsAtAll {
		l.last = slices.Delete(l.last, 0, 1)
	}
}
