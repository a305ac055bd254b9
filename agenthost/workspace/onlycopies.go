package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// What exists only in a workspace is found by three confined readings: a snapshot tells how its files differ from the
// commit that is checked out, a reading of what no snapshot has tells of ignored files, repositories inside and the
// index, and the mirror tells which commits no other repository has. No git runs in the work tree, and none reads a
// repository inside.

// maxOnlyCopies bounds the items of each kind. More of them are told by directory.
const maxOnlyCopies = 200

// onlyCopies finds what exists only in a workspace: neither in its project nor at a remote, as far as the workspace knows.
// A project's own directory has nothing of the kind: it is never deleted.
func (m *Manager) onlyCopies(ctx context.Context, rec *record) (*protocol.OnlyCopies, error) {
	found := &onlySearch{manager: m, rec: rec, state: sha256.New()}
	if err := found.find(ctx); err != nil {
		return nil, err
	}
	list := &protocol.OnlyCopies{Items: found.items}
	if list.Items == nil {
		list.Items = []protocol.OnlyCopy{}
	}
	list.ID = hex.EncodeToString(found.state.Sum(nil)[:16])
	return list, nil
}

// onlyCopiesOrUnknown is onlyCopies for a caller that keeps a workspace which cannot be read.
func (m *Manager) onlyCopiesOrUnknown(ctx context.Context, rec *record) *protocol.OnlyCopies {
	list, err := m.onlyCopies(ctx, rec)
	if err == nil {
		return list
	}
	m.log.Warn("keep a workspace that cannot be inspected", "workspace", rec.Key, "error", err)
	return unknownCopies(err)
}

// unknownCopies is the list of a workspace that an error keeps.
func unknownCopies(err error) *protocol.OnlyCopies {
	why, known := "The workspace cannot be inspected: the log of the agent host says more", new(protocol.Error)
	if errors.As(err, &known) {
		why = known.Message
	}
	sum := sha256.Sum256([]byte(why))
	return &protocol.OnlyCopies{
		ID: hex.EncodeToString(sum[:16]), Items: []protocol.OnlyCopy{{Kind: protocol.OnlyUnknown, Name: why}},
	}
}

// onlySearch collects what exists only in a workspace.
type onlySearch struct {
	manager *Manager
	rec     *record
	items   []protocol.OnlyCopy
	state   interface { // of all that was found, for the list's id
		Write(p []byte) (int, error)
		Sum(b []byte) []byte
	}
}

// add adds items of one kind: names with the counts that belong to them.
func (o *onlySearch) add(kind protocol.OnlyCopyKind, counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		_, _ = fmt.Fprintf(o.state, "%s %q %d\n", kind, name, counts[name])
	}
	counts = byDirectory(counts, maxOnlyCopies)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		o.items = append(o.items, protocol.OnlyCopy{Kind: kind, Name: shownName(name), Count: counts[name]})
	}
}

// shownName is a name in a form that every client can show.
func shownName(name string) string {
	const limit = 1000
	if name = protocol.ShownPath(name); len(name) > limit {
		name = protocol.CutText(name, limit) + "…"
	}
	return name
}

// byDirectory adds up what is below the same directories, of as many levels as make no more names than limit.
func byDirectory(counts map[string]int, limit int) map[string]int {
	depth := 0
	for name := range counts {
		depth = max(depth, strings.Count(name, "/"))
	}
	for ; len(counts) > limit; depth-- {
		counts = upTo(counts, depth)
	}
	return counts
}

// upTo adds up what is below directories of a level.
func upTo(counts map[string]int, depth int) map[string]int {
	sums := map[string]int{}
	for name, count := range counts {
		elements := strings.SplitAfter(name, "/")
		if dir := strings.Join(elements[:min(depth, len(elements))], ""); dir != name {
			name = dir
		}
		if name == "" {
			name = "./"
		}
		sums[name] += count
	}
	return sums
}

func (o *onlySearch) find(ctx context.Context) error {
	m, rec := o.manager, o.rec
	_, err := os.Lstat(m.rootDir(rec))
	isGone := errors.Is(err, fs.ErrNotExist)
	switch {
	case rec.Kind == kindClone && isGone:
		return o.findInProject(ctx)
	case rec.Kind == kindShared || isGone:
		return nil
	case rec.Kind != kindClone && rec.Kind != kindOwn:
		return o.findNames(ctx)
	}
	mirror, err := m.repository(ctx, rec)
	if err != nil {
		return err
	}
	if err := o.findFiles(ctx, mirror); err != nil {
		return err
	}
	return o.findCommits(ctx, mirror)
}

// findNames finds what is in a directory that has no repository.
func (o *onlySearch) findNames(ctx context.Context) error {
	root := o.manager.rootDir(o.rec)
	dir, err := o.manager.openTree(ctx, o.manager.sessionIn(o.rec), root, &treereader.TreeRequest{Root: root})
	if err != nil {
		return err
	}
	defer dir.close()
	entries, isCut, err := dir.List("", maxOnlyCopies)
	if err != nil {
		return dir.explain(err)
	}
	names := map[string]int{}
	for _, e := range entries {
		if e.Kind == treereader.KindDirectory {
			e.Name += "/"
		}
		names[e.Name] = 1
	}
	if isCut {
		names["…"] = 1
	}
	o.add(protocol.OnlyChanged, names)
	return nil
}
