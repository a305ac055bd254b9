package treesnapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bellhop/agenthost/workspace/objectpack"
	"bellhop/agenthost/workspace/treereader"
)

// Git runs git in a repository of the host, and returns its output.
type Git func(ctx context.Context, c Call) ([]byte, error)

// Call is one run of git.
type Call struct {
	Args      []string
	Stdin     io.Reader
	GitDir    string
	WorkTree  string // "" = none
	IndexFile string // "" = none
	Limit     int    // bytes of output
}

// Store keeps the snapshots of one work tree. Its callers lock it.
type Store struct {
	dir      string
	base     string // the tree or commit that the work tree began with; "" = nothing
	hashSize int
	git      Git
}

// maxListing bounds git's lists, in bytes.
const maxListing = 256 << 20

// Open opens a store, and makes it if it is missing. objects is the directory with the objects of the base.
func Open(ctx context.Context, dir, objects, base string, hashSize int, git Git) (*Store, error) {
	s := &Store{dir: dir, base: base, hashSize: hashSize, git: git}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(s.GitDir(), "HEAD")); errors.Is(err, fs.ErrNotExist) {
		format := "sha1"
		if hashSize == 32 {
			format = "sha256"
		}
		args := []string{"init", "--quiet", "--template=", "--bare", "--object-format=" + format, s.GitDir()}
		if _, err := git(ctx, Call{Args: args}); err != nil {
			return nil, err
		}
	}
	if objects == "" {
		return s, nil
	}
	info := filepath.Join(s.GitDir(), "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return nil, err
	}
	return s, os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600)
}

// GitDir is the repository with the snapshots.
func (s *Store) GitDir() string { return filepath.Join(s.dir, "git") }

func (s *Store) filesPath() string { return filepath.Join(s.dir, "files") }

func (s *Store) lastPath() string { return filepath.Join(s.dir, "last") }

// last returns the id of the last snapshot, or "".
func (s *Store) last() string {
	id, err := os.ReadFile(s.lastPath())
	if err != nil {
		return ""
	}
	return string(id)
}

// Files returns what is known of the tree: at first the files of the base.
func (s *Store) Files(ctx context.Context) (treereader.Files, error) {
	file, err := os.Open(s.filesPath())
	if err == nil {
		defer file.Close()
		if files, err := treereader.ReadFiles(file); err == nil {
			return files, nil
		}
	}
	if s.base == "" {
		return nil, nil
	}
	return s.list(ctx, s.base)
}

// list returns the files of a tree.
func (s *Store) list(ctx context.Context, tree string) (treereader.Files, error) {
	out, err := s.git(ctx, Call{GitDir: s.GitDir(), Limit: maxListing, Args: []string{"ls-tree", "-r", "-z", "--full-tree", tree}})
	if err != nil {
		return nil, err
	}
	var files treereader.Files
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
		files = append(files, treereader.Known{Path: path, Mode: treereader.Mode(mode), ID: parts[2]})
	}
	return files, nil
}

// save replaces what is known of the tree.
func (s *Store) save(files treereader.Files) error {
	var out bytes.Buffer
	if err := treereader.WriteFiles(&out, files); err != nil {
		return err
	}
	next := s.filesPath() + ".next"
	if err := os.WriteFile(next, out.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.filesPath())
}

// entries returns files as the writer of objects takes them.
func entries(files treereader.Files) []objectpack.File {
	all := make([]objectpack.File, len(files))
	for i := range files {
		all[i] = objectpack.File{Path: files[i].Path, Mode: uint32(files[i].Mode), ID: files[i].ID}
	}
	return all
}

// find returns the index of a path, and whether it is there.
func find(files treereader.Files, path string) (int, bool) {
	return slices.BinarySearchFunc(files, path, func(k treereader.Known, path string) int {
		return strings.Compare(k.Path, path)
	})
}
