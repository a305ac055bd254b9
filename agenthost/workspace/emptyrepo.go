package workspace

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names objects by SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// The author of the host's commits.
const (
	authorName  = "Bellhop"
	authorEmail = "bellhop@localhost"
)

// Modes of git's files before the umask.
const (
	gitDirMode    = 0o777
	gitFileMode   = 0o666
	gitObjectMode = 0o444
)

// initRepository writes what "git init --template=" would write for a repository whose object names are SHA-1. HEAD,
// by which git knows a repository, comes last.
func initRepository(gitDir, branch string, bare bool) error {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(gitDir, dir), gitDirMode); err != nil {
			return err
		}
	}
	if err := writeRepositoryConfig(gitDir, bare); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), gitFileMode)
}

// writeEmptyRepository writes the files that "git init --template= --initial-branch=main",
// "git commit-tree" of an empty tree and "git update-ref" would write, and returns the id
// of the commit. Starting git four times takes several times as long as opening a session.
func writeEmptyRepository(gitDir string, now time.Time) (commit string, err error) {
	if err := os.MkdirAll(filepath.Join(gitDir, "logs", "refs", "heads"), gitDirMode); err != nil {
		return "", err
	}
	if err := initRepository(gitDir, "main", false); err != nil {
		return "", err
	}
	tree, err := writeObject(gitDir, "tree", "")
	if err != nil {
		return "", err
	}
	by := fmt.Sprintf("%s <%s> %d %s", authorName, authorEmail, now.Unix(), now.Local().Format("-0700"))
	commit, err = writeObject(gitDir, "commit", "tree "+tree+"\nauthor "+by+"\ncommitter "+by+"\n\nBegin\n")
	if err != nil {
		return "", err
	}
	logged := strings.Repeat("0", len(commit)) + " " + commit + " " + by + "\n"
	for name, content := range map[string]string{
		"refs/heads/main": commit + "\n", "logs/refs/heads/main": logged, "logs/HEAD": logged,
	} {
		if err := os.WriteFile(filepath.Join(gitDir, name), []byte(content), gitFileMode); err != nil {
			return "", err
		}
	}
	return commit, nil
}

// writeObject writes a loose object and returns its id.
func writeObject(gitDir, kind, body string) (id string, err error) {
	content := fmt.Appendf(nil, "%s %d\x00%s", kind, len(body), body)
	sum := sha1.Sum(content) //nolint:gosec // git names objects by SHA-1
	id = hex.EncodeToString(sum[:])
	dir := filepath.Join(gitDir, "objects", id[:2])
	if err := os.Mkdir(dir, gitDirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	packed, err := deflate(content)
	if err != nil {
		return "", err
	}
	return id, os.WriteFile(filepath.Join(dir, id[2:]), packed, gitObjectMode)
}

// deflaters are reused, because a new one allocates a megabyte of tables.
var deflaters = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func deflate(content []byte) ([]byte, error) {
	w := deflaters.Get().(*zlib.Writer) //nolint:forcetypeassert // the pool holds nothing else
	defer deflaters.Put(w)
	var packed bytes.Buffer
	w.Reset(&packed)
	_, err := w.Write(content)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// writeRepositoryConfig writes git's first configuration. Like git it records what the
// file system lacks: the bit of executable files, symbolic links, names that differ in
// case or, on macOS, in Unicode composition alone.
func writeRepositoryConfig(gitDir string, bare bool) error {
	path := filepath.Join(gitDir, "config")
	if err := os.WriteFile(path, nil, gitFileMode); err != nil {
		return err
	}
	var config strings.Builder
	config.WriteString("[core]\n\trepositoryformatversion = 0\n")
	fmt.Fprintf(&config, "\tfilemode = %t\n\tbare = %t\n", keepsModes(path), bare)
	if !bare {
		config.WriteString("\tlogallrefupdates = true\n")
	}
	if !keepsLinks(filepath.Join(gitDir, "link-probe")) {
		config.WriteString("\tsymlinks = false\n")
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "CoNfIg")); err == nil {
		config.WriteString("\tignorecase = true\n")
	}
	if runtime.GOOS == "darwin" {
		fmt.Fprintf(&config, "\tprecomposeunicode = %t\n", findsDecomposed(gitDir))
	}
	return os.WriteFile(path, []byte(config.String()), gitFileMode)
}

// keepsModes reports whether the file system stores the executable bit of a file.
func keepsModes(path string) bool {
	before, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if err := os.Chmod(path, before.Mode().Perm()^0o100); err != nil {
		return false
	}
	changed, err := os.Lstat(path)
	return errors.Join(err, os.Chmod(path, before.Mode().Perm())) == nil && changed.Mode() != before.Mode()
}

// keepsLinks reports whether a symbolic link can be made at a path.
func keepsLinks(path string) bool {
	if err := os.Symlink("testing", path); err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return errors.Join(err, os.Remove(path)) == nil && info.Mode().Type() == fs.ModeSymlink
}

// findsDecomposed reports whether a file is found by the decomposed form of its name.
func findsDecomposed(dir string) bool {
	composed, decomposed := filepath.Join(dir, "\u00e4"), filepath.Join(dir, "a\u0308")
	if err := os.WriteFile(composed, nil, gitFileMode); err != nil {
		return false
	}
	_, err := os.Lstat(decomposed)
	return errors.Join(os.Remove(composed), err) == nil
}
