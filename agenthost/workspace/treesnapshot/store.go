package treesnapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	"bellhop/internal/replacefile"
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

	maxGrowth int64

	listed struct { // last
		tree  string
		files treereader.Files
	}
}

// maxListing bounds git's lists, in bytes.
const maxListing = 256 << 20

// Open opens a store, and makes it if it is missing. objects is the directory with the objects of the base; "" = as
// before.
func Open(dir, objects, base string, hashSize int, git Git) (*Store, error) {
	s := &Store{dir: dir, base: base, hashSize: hashSize, git: git, maxGrowth: maxGrowth}
	if _, err := os.Lstat(filepath.Join(s.GitDir(), "HEAD")); errors.Is(err, fs.ErrNotExist) {
		if err := s.init(); err != nil {
			return nil, err
		}
	}
	if objects == "" {
		return s, nil
	}
	if strings.ContainsAny(objects, "\n\"") {
		return nil, fmt.Errorf("git cannot use the path %q", objects)
	}
	return s, replacefile.Change(filepath.Join(s.GitDir(), "objects", "info", "alternates"), []byte(objects+"\n"), 0o600)
}

// init makes an empty bare repository. HEAD, by which git knows a repository, comes last.
func (s *Store) init() error {
	for _, dir := range []string{"objects/info", "objects/pack", "refs"} {
		if err := os.MkdirAll(filepath.Join(s.GitDir(), dir), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if s.hashSize == sha256.Size {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	return errors.Join(
		replacefile.Change(filepath.Join(s.GitDir(), "config"), []byte(config), 0o600),
		replacefile.Change(filepath.Join(s.GitDir(), "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
	)
}

// HashSize returns the bytes of the ids of git's objects.
func (s *Store) HashSize() int { return s.hashSize }

// GitDir is the repository with the snapshots.
func (s *Store) GitDir() string { return filepath.Join(s.dir, "git") }

func (s *Store) filesPath() string { return filepath.Join(s.dir, "files") }

// read returns what is known of the tree, and its tree in git: at first the files of the base, and "".
func (s *Store) read(ctx context.Context) (files treereader.Files, tree string, err error) {
	file, err := os.Open(s.filesPath())
	if err == nil {
		defer file.Close()
		head := make([]byte, 2*s.hashSize+1)
		_, err := io.ReadFull(file, head)
		if err == nil {
			files, err = treereader.ReadFiles(file)
		}
		if err == nil {
			return files, string(head[:2*s.hashSize]), nil
		}
	}
	if s.base == "" {
		return nil, "", nil
	}
	files, err = s.list(ctx, s.base)
	return files, "", err
}

// list returns the files of a tree. That of the base is needed twice for a first snapshot.
func (s *Store) list(ctx context.Context, tree string) (files treereader.Files, err error) {
	if tree != "" && s.listed.tree == tree {
		return slices.Clone(s.listed.files), nil
	}
	out, err := s.git(ctx, Call{GitDir: s.GitDir(), Limit: maxListing, Args: []string{"ls-tree", "-r", "-z", "--full-tree", tree}})
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
		files = append(files, treereader.Known{Path: path, Mode: treereader.Mode(mode), ID: parts[2]})
	}
	s.listed.tree, s.listed.files = tree, files
	return slices.Clone(files), nil
}

// Submodules returns the paths at which a tree has commits of other repositories.
func (s *Store) Submodules(ctx context.Context, tree string) ([]string, error) {
	if tree == "" {
		return nil, nil
	}
	kept := filepath.Join(s.dir, "submodules")
	if content, err := os.ReadFile(kept); err == nil {
		if paths := strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00"); paths[0] == tree {
			return paths[1:], nil
		}
	}
	files, err := s.list(ctx, tree)
	if err != nil {
		return nil, err
	}
	lines := []string{tree}
	for i := range files {
		if files[i].Mode == treereader.ModeCommit {
			lines = append(lines, files[i].Path)
		}
	}
	return lines[1:], replacefile.Change(kept, []byte(strings.Join(lines, "\x00")+"\x00"), 0o600)
}

// save replaces what is known of the tree.
func (s *Store) save(files treereader.Files, tree string) error {
	var out bytes.Buffer
	out.WriteString(tree + "\n")
	if err := treereader.WriteFiles(&out, files); err != nil {
		return err
	}
	return replacefile.Change(s.filesPath(), out.Bytes(), 0o600)
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
