package treesnapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/internal/replacefile"
)

// Bounds of a store. Snapshots beyond them, the older ones first, are forgotten with what only they have.
const (
	maxSnapshots = 32
	maxPacks     = 24
	maxGrowth    = 1 << 30 // bytes beyond those that the last repack left
	keptAtGrowth = 4       // snapshots that stay when the packs are too large
)

// The refs of a store: its snapshots, the newest last, and the one that the work tree began with.
const (
	snapshotRef = "refs/snapshots/"
	firstRef    = "refs/first"
)

func (s *Store) refsPath() string { return filepath.Join(s.GitDir(), "packed-refs") }

func (s *Store) refs() (snapshots []string, first string) {
	content, err := os.ReadFile(s.refsPath())
	if err != nil {
		return nil, ""
	}
	for line := range strings.Lines(string(content)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case name == firstRef:
			first = id
		case strings.HasPrefix(name, snapshotRef):
			snapshots = append(snapshots, id)
		}
	}
	return snapshots, first
}

// snapshots returns the ids of the snapshots that the store has, the newest last.
func (s *Store) snapshots() []string {
	ids, _ := s.refs()
	return ids
}

// Has reports whether the store still has a snapshot.
func (s *Store) Has(id string) bool {
	ids, first := s.refs()
	return id != "" && (id == first || slices.Contains(ids, id))
}

// writeRefs replaces the refs. No program of git runs in the store meanwhile.
func (s *Store) writeRefs(snapshots []string, first string) error {
	var out strings.Builder
	if first != "" {
		out.WriteString(first + " " + firstRef + "\n")
	}
	for i, id := range snapshots {
		fmt.Fprintf(&out, "%s %s%04d\n", id, snapshotRef, i)
	}
	return replacefile.Change(s.refsPath(), []byte(out.String()), 0o600)
}

// KeepFirst keeps a snapshot for as long as the store exists.
func (s *Store) KeepFirst(id string) error {
	snapshots, _ := s.refs()
	return s.writeRefs(snapshots, id)
}

// keep makes a snapshot the newest one, and forgets old ones when the store has grown too much.
func (s *Store) keep(ctx context.Context, id string) error {
	ids, first := s.refs()
	if len(ids) > 0 && ids[len(ids)-1] == id {
		return nil
	}
	ids = append(slices.DeleteFunc(ids, func(old string) bool { return old == id }), id)
	ids = ids[max(0, len(ids)-maxSnapshots):]
	packs, size, err := s.packs()
	if err != nil {
		return err
	}
	isLarge := size+s.number(looseFile) > s.number(packedFile)+s.maxGrowth
	if isLarge {
		ids = ids[max(0, len(ids)-keptAtGrowth):]
	}
	if err := s.writeRefs(ids, first); err != nil || packs <= maxPacks && !isLarge {
		return err
	}
	return s.repack(ctx)
}

// repack writes one pack with what the refs need, and removes all else.
func (s *Store) repack(ctx context.Context) error {
	for _, args := range [][]string{
		{"repack", "-a", "-d", "-l", "-q", "--window=0"},
		{"prune", "--expire=now"}, // what git converted is no part of a pack
	} {
		if _, err := s.git(ctx, Call{GitDir: s.GitDir(), Args: args}); err != nil {
			return err
		}
	}
	_, size, err := s.packs()
	if err != nil {
		return err
	}
	return errors.Join(s.setNumber(looseFile, 0), s.setNumber(packedFile, size))
}

// packs returns the number of packs, and their bytes.
func (s *Store) packs() (count int, size int64, err error) {
	all, err := os.ReadDir(filepath.Join(s.GitDir(), "objects", "pack"))
	for _, entry := range all {
		info, err := entry.Info()
		if err != nil {
			return 0, 0, err
		}
		size += info.Size()
		if strings.HasSuffix(entry.Name(), ".pack") {
			count++
		}
	}
	return count, size, err
}

// Files with numbers of bytes.
const (
	packedFile = "packed" // of packs that the last repack left
	looseFile  = "loose"  // of files that git has converted since then, into objects of their own
)

func (s *Store) number(file string) (n int64) {
	content, err := os.ReadFile(filepath.Join(s.dir, file))
	if err == nil {
		_, _ = fmt.Sscan(string(content), &n)
	}
	return n
}

func (s *Store) setNumber(file string, n int64) error {
	return replacefile.Change(filepath.Join(s.dir, file), fmt.Append(nil, n), 0o600)
}
