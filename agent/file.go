package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"bellhop/internal/openflag"
	"bellhop/protocol"
)

// Limits of the results and the input of the file tools.
const (
	maxEntries   = 500
	maxFileBytes = 256 << 10
	maxWrite     = 8 << 20
)

// files accesses files below one directory. os.Root prevents every escape, also through links
// created between a check and its use.
type files struct{ root *os.Root }

type pathArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// arguments decodes the arguments and makes the path relative to the root.
func (f files) arguments(raw json.RawMessage) (pathArguments, error) {
	var a pathArguments
	if err := protocol.Decode(raw, &a); err != nil {
		return a, err
	}
	path := filepath.Clean(a.Path)
	if filepath.IsAbs(path) {
		relative, err := filepath.Rel(f.root.Name(), path)
		if err != nil {
			return a, outside(a.Path)
		}
		path = relative
	}
	if !filepath.IsLocal(path) {
		return a, outside(a.Path)
	}
	a.Path = path
	return a, nil
}

func outside(path string) error {
	return &protocol.Error{
		Code: protocol.CodeForbidden, Message: fmt.Sprintf("%s is outside the working directory", printable(path)),
		Hint: "Only files inside it can be used",
	}
}

// failure describes an error with the path as the caller gave it.
func failure(path string, err error) error {
	path = printable(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &protocol.Error{Code: protocol.CodeNotFound, Message: path + " does not exist", Err: err}
	case errors.Is(err, syscall.ENOTDIR):
		return &protocol.Error{Code: protocol.CodeInvalid, Message: path + " is not a directory", Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &protocol.Error{Code: protocol.CodeForbidden, Message: path + " is not accessible", Err: err}
	case strings.HasSuffix(err.Error(), "path escapes from parent"): // os.Root has no exported error
		return outside(path)
	default:
		return &protocol.Error{Code: protocol.CodeInternal, Message: path + " cannot be used: " + err.Error(), Err: err}
	}
}

// printable quotes names with control characters or invalid UTF-8.
func printable(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// open opens only regular files: reading others may block or have side effects.
func (f files) open(path string, flag int) (*os.File, error) {
	file, err := f.root.OpenFile(path, flag|openflag.NoWait, 0o644)
	if err != nil {
		return nil, failure(path, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = protocol.Errorf(protocol.CodeInvalid, "%s is not a regular file", printable(path))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

type listDir struct{ files }

func (listDir) spec() ToolSpec {
	return ToolSpec{
		ToolListDir, "List a directory inside the working directory; \".\" is the working directory itself.",
		schema("path"),
	}
}

func (t listDir) prepare(raw json.RawMessage) (*action, error) {
	a, err := t.arguments(raw)
	if err != nil {
		return nil, err
	}
	return &action{run: func(context.Context) (string, error) { return t.list(a.Path) }}, nil
}

func (t listDir) list(path string) (string, error) {
	dir, err := t.root.OpenFile(path, os.O_RDONLY|openflag.NoWait|openflag.Directory, 0)
	if err != nil {
		return "", failure(path, err)
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", failure(path, err)
	}
	if len(entries) == 0 {
		return "The directory is empty.", nil
	}
	lines := make([]string, 0, len(entries))
	for _, entry := range entries[:min(len(entries), maxEntries)] {
		lines = append(lines, describe(entry))
	}
	slices.Sort(lines)
	if len(entries) > maxEntries {
		lines = append(lines, fmt.Sprintf("… and more: the first %d entries are shown", maxEntries))
	}
	return strings.Join(lines, "\n"), nil
}

func describe(entry fs.DirEntry) string {
	name := printable(entry.Name())
	info, err := entry.Info()
	switch {
	case entry.IsDir():
		return name + "/"
	case entry.Type()&fs.ModeSymlink != 0:
		return name + " (link)"
	case !entry.Type().IsRegular() || err != nil:
		return name + " (special)"
	default:
		return fmt.Sprintf("%s (%s)", name, count(int(info.Size()), "byte"))
	}
}

type readFile struct{ files }

func (readFile) spec() ToolSpec {
	return ToolSpec{
		ToolReadFile, "Read a text file inside the working directory (at most its first 256 KiB).", schema("path"),
	}
}

func (t readFile) prepare(raw json.RawMessage) (*action, error) {
	a, err := t.arguments(raw)
	if err != nil {
		return nil, err
	}
	return &action{run: func(context.Context) (string, error) { return t.read(a.Path) }}, nil
}

func (t readFile) read(path string) (string, error) {
	file, err := t.open(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return "", failure(path, err)
	}
	note := ""
	if len(content) > maxFileBytes {
		content, note = content[:maxFileBytes], fmt.Sprintf("\n… cut after %d KiB", maxFileBytes>>10)
		for len(content) > 0 && !utf8.RuneStart(content[len(content)-1]) {
			content = content[:len(content)-1]
		}
		content = content[:max(0, len(content)-1)] // the last rune may be incomplete
	}
	if !utf8.Valid(content) || slices.Contains(content, 0) {
		return "", protocol.Errorf(protocol.CodeInvalid, "%s is not a text file", printable(path))
	}
	return string(content) + note, nil
}

type writeFile struct{ files }

func (writeFile) spec() ToolSpec {
	return ToolSpec{
		ToolWriteFile, "Create or replace a text file inside the working directory.", schema("path", "content"),
	}
}

func (t writeFile) prepare(raw json.RawMessage) (*action, error) {
	a, err := t.arguments(raw)
	if err != nil {
		return nil, err
	}
	if len(a.Content) > maxWrite {
		return nil, protocol.Errorf(protocol.CodeTooLarge, "The content is over %d MiB", maxWrite>>20)
	}
	size := count(len(a.Content), "byte")
	ask := &action{
		prompt:  fmt.Sprintf("Create %s with %s?", printable(a.Path), size),
		warning: &protocol.SecurityWarning{Level: "INFO", Message: "Creates a file in the working directory."},
		run:     func(context.Context) (string, error) { return t.write(a) },
	}
	switch info, err := t.root.Stat(a.Path); {
	case err == nil && info.Mode().IsRegular():
		ask.prompt = fmt.Sprintf("Replace %s (%s) by %s?", printable(a.Path), count(int(info.Size()), "byte"), size)
		ask.warning = &protocol.SecurityWarning{Level: "WARN", Message: "Replaces a file: its present content is lost."}
	case err == nil:
		return nil, protocol.Errorf(protocol.CodeInvalid, "%s is not a regular file", printable(a.Path))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, failure(a.Path, err)
	}
	return ask, nil
}

func (t writeFile) write(a pathArguments) (string, error) {
	if err := t.root.MkdirAll(filepath.Dir(a.Path), 0o755); err != nil {
		return "", failure(a.Path, err)
	}
	file, err := t.open(a.Path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return "", err
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = io.WriteString(file, a.Content)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", failure(a.Path, err)
	}
	return fmt.Sprintf("Wrote %s to %s.", count(len(a.Content), "byte"), printable(a.Path)), nil
}

// count returns "1 byte", "2 bytes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
