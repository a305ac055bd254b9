package treesnapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/owner"
	"bellhop/internal/replacefile"
)

// conversions are the attributes that change content on its way into an object. Filters are programs, and never start.
var conversions = []string{"text", "crlf", "eol", "ident", "working-tree-encoding"}

const attributesName = ".gitattributes"

// convert lets git make the objects of the files whose content attributes change, and returns their ids by path.
func (t *taking) convert(ctx context.Context) (map[string]string, error) {
	if !t.hasContent() {
		return nil, nil
	}
	files := filepath.Join(t.scratch, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return nil, err
	}
	has, err := t.writeAttributes(ctx, files)
	if err != nil || !has {
		return nil, err
	}
	paths, err := t.converted(ctx, files)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	// git sees whether the old content has CRLF, so it needs the old entries.
	var old []indexEntry
	size := t.number(looseFile)
	var names bytes.Buffer
	for _, name := range paths {
		if at, ok := find(t.known, name); ok && t.known[at].Mode != treereader.ModeCommit {
			old = append(old, indexEntry{path: name, id: t.known[at].ID, mode: treereader.ModeFile})
		}
		if err := t.write(files, name); err != nil {
			return nil, err
		}
		size += t.told[name].size
		names.WriteString(name + "\x00")
	}
	if err := t.setNumber(looseFile, size); err != nil {
		return nil, err
	}
	call := Call{GitDir: t.GitDir(), WorkTree: files, IndexFile: filepath.Join(t.scratch, "index"), Stdin: &names}
	if err := writeIndex(call.IndexFile, old, t.hashSize, owner.ID{}); err != nil {
		return nil, err
	}
	call.Args = []string{"update-index", "--add", "--replace", "-z", "--stdin"}
	if _, err := t.git(ctx, call); err != nil {
		return nil, err
	}
	call.Args, call.Stdin, call.Limit = []string{"ls-files", "-s", "-z"}, nil, maxListing
	out, err := t.git(ctx, call)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if facts, name, ok := strings.Cut(line, "\t"); ok {
			ids[name] = strings.Fields(facts)[1]
		}
	}
	return ids, nil
}

// hasContent reports whether a regular file was told.
func (t *taking) hasContent() bool {
	for _, f := range t.told {
		if f.isRegular() {
			return true
		}
	}
	return false
}

// isRegular reports whether attributes can change what was told of a file.
func (f *told) isRegular() bool { return !f.isKept && f.known.Mode != treereader.ModeLink }

// writeAttributes writes the attributes that count into a copy of the tree, and reports whether there are any.
func (t *taking) writeAttributes(ctx context.Context, files string) (has bool, err error) {
	for name, f := range t.told {
		if path.Base(name) == attributesName && f.isRegular() {
			has = true
			if err := t.write(files, name); err != nil {
				return false, err
			}
		}
	}
	for name, content := range t.attributes {
		has = true
		if err := writeFile(files, name, bytes.NewReader(content)); err != nil {
			return false, err
		}
	}
	for i := range t.known {
		k := &t.known[i]
		if path.Base(k.Path) != attributesName || t.deleted[i] || t.told[k.Path] != nil || k.Mode == treereader.ModeLink {
			continue
		}
		has = true
		content, err := t.knownAttributes(ctx, k.ID)
		if err != nil {
			return false, err
		}
		if err := writeFile(files, k.Path, bytes.NewReader(content)); err != nil {
			return false, err
		}
	}
	return has, nil
}

// maxAttributes bounds a file of attributes, in bytes.
const maxAttributes = 1 << 20

// knownAttributes returns the content of a file of attributes, which the store keeps beside the repository: it is
// needed for each snapshot.
func (s *Store) knownAttributes(ctx context.Context, id string) ([]byte, error) {
	kept := filepath.Join(s.dir, "attributes", id)
	if content, err := os.ReadFile(kept); err == nil {
		return content, nil
	}
	content, err := s.git(ctx, Call{GitDir: s.GitDir(), Limit: maxAttributes, Args: []string{"cat-file", "blob", id}})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return nil, err
	}
	return content, replacefile.Change(kept, content, 0o600)
}

// converted returns the paths of told files that have attributes of conversions.
func (t *taking) converted(ctx context.Context, files string) ([]string, error) {
	var names bytes.Buffer
	for name, f := range t.told {
		if f.isRegular() {
			names.WriteString(name + "\x00")
		}
	}
	out, err := t.git(ctx, Call{
		GitDir: t.GitDir(), WorkTree: files, IndexFile: filepath.Join(t.scratch, "none"), Stdin: &names, Limit: maxListing,
		Args: append([]string{"check-attr", "-z", "--stdin"}, conversions...),
	})
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(out), "\x00")
	var paths []string
	for len(fields) >= 3 {
		if value := fields[2]; value != "unspecified" && value != "unset" && t.told[fields[0]] != nil {
			paths = append(paths, fields[0])
		}
		fields = fields[3:]
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func (t *taking) write(files, name string) error {
	err := writeFile(files, name, t.content(t.told[name]))
	if errors.Is(err, os.ErrExist) { // its attributes
		return nil
	}
	return err
}

// writeFile makes a file in a directory that only the host writes.
func writeFile(files, name string, content io.Reader) error {
	to := filepath.Join(files, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
