package workspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// onlyFiles are the files of a workspace that no commit has.
type onlyFiles struct {
	committed map[string]treereader.Known // in the commit that is checked out
	now       *snapshot
	staged    []treereader.Staged

	ignored, unread, inner map[string]int
}

func (o *onlySearch) findFiles(ctx context.Context, mirror repository) error {
	m := o.manager
	release, err := m.acquireSlot(ctx, o.rec)
	if err != nil {
		return err
	}
	defer release()
	f := &onlyFiles{ignored: map[string]int{}, unread: map[string]int{}, inner: map[string]int{}}
	if f.committed, err = m.committedFiles(ctx, mirror); err != nil {
		return err
	}
	if err := o.readUnkept(ctx, f); err != nil {
		return err
	}
	return m.withSnapshot(ctx, o.rec, nil, func(_ context.Context, s *snapshot) error {
		f.now = s
		o.addFiles(f)
		return nil
	})
}

// committedFiles returns the files of the commit that is checked out in a mirror, none if there is no commit.
func (m *Manager) committedFiles(ctx context.Context, mirror repository) (map[string]treereader.Known, error) {
	files := map[string]treereader.Known{}
	out, err := m.git.run(ctx, call{repo: mirror, noFiles: true, args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{tree}"}})
	if exitedWith(err, 1) || exitedWith(err, 128) { // no commit
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	out, err = m.git.run(ctx, call{
		repo: mirror, noFiles: true, limit: maxListing * 8, args: []string{"ls-tree", "-r", "-z", "--full-tree", trimNewline(out)},
	})
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		facts, path, ok := strings.Cut(line, "\t")
		parts := strings.Fields(facts)
		if !ok || len(parts) != 3 {
			continue
		}
		mode, err := strconv.ParseUint(parts[0], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("list a tree: %w", err)
		}
		files[path] = treereader.Known{Path: path, Mode: treereader.Mode(mode), ID: parts[2]}
	}
	return files, nil
}

// readUnkept reads what no snapshot has.
func (o *onlySearch) readUnkept(ctx context.Context, f *onlyFiles) error {
	exclude, err := o.manager.excludeOf(o.rec)
	if err != nil {
		return err
	}
	return o.manager.eachName(ctx, o.rec, &treereader.Request{Exclude: exclude, Unkept: true}, func(fact treereader.Fact) {
		switch told := fact.(type) {
		case treereader.Name:
			f.ignored[told.Path] = 1
		case treereader.Inner:
			f.inner[told.Path] = told.Files
		case treereader.Staged:
			f.staged = append(f.staged, told)
		case treereader.LeftOut:
			f.unread[told.Path] = 1
		case treereader.MoreLeftOut:
			f.unread["…"] += told.Count
		}
	})
}

// isInside reports whether a path is that of a repository inside, or below it.
func (f *onlyFiles) isInside(path string) bool {
	for i := range path {
		if path[i] == '/' {
			if _, ok := f.inner[path[:i]]; ok {
				return true
			}
		}
	}
	_, ok := f.inner[path]
	return ok
}

// addFiles compares a snapshot with the commit that is checked out, and with the index.
func (o *onlySearch) addFiles(f *onlyFiles) {
	s := f.now
	isHidden := map[string]bool{}
	for _, e := range f.staged {
		isHidden[e.Path] = e.IsHidden
	}
	changed, hidden, staged := map[string]int{}, map[string]int{}, map[string]int{}
	count := func(path string) {
		if f.isInside(path) {
			return // it is told as a repository
		}
		if isHidden[path] {
			hidden[path] = 1
		} else {
			changed[path] = 1
		}
	}
	for i := range s.Files {
		now := &s.Files[i]
		if then, ok := f.committed[now.Path]; !ok || then.Mode != now.Mode || then.ID != now.ID {
			count(now.Path)
		}
	}
	for path := range f.committed {
		if _, ok := s.File(path); !ok {
			count(path)
		}
	}
	for _, e := range f.staged {
		now, _ := s.File(e.Path)
		if !f.isInside(e.Path) && e.ID != f.committed[e.Path].ID && e.ID != now.ID {
			staged[e.Path] = 1
			_, _ = fmt.Fprintln(o.state, "index", e.ID)
		}
	}
	if len(changed)+len(hidden) > 0 {
		_, _ = fmt.Fprintln(o.state, "tree", s.Tree)
	}
	for _, left := range mustRefuse(s.Snapshot) {
		f.unread[left.Path] = 1
	}
	for path := range f.unread {
		if f.isInside(path) {
			delete(f.unread, path)
		}
	}
	if s.More > 0 {
		f.unread["…"] = max(f.unread["…"], s.More)
	}
	o.add(protocol.OnlyChanged, changed)
	o.add(protocol.OnlyHidden, hidden)
	o.add(protocol.OnlyStaged, staged)
	o.add(protocol.OnlyIgnored, f.ignored)
	o.add(protocol.OnlyUnread, f.unread)
	o.add(protocol.OnlyRepository, f.inner)
}
