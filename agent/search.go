package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"bellhop/protocol"
)

// Limits of a search.
const (
	maxMatches    = 200
	maxMatchLine  = 240
	maxSearchFile = 2 << 20
	searchTime    = 20 * time.Second
)

// search looks for a pattern in the files of the working directory.
type search struct{ files }

type searchArguments struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
}

func (search) spec() ToolSpec {
	return ToolSpec{
		ToolSearch,
		"Search text files inside the working directory for a regular expression (RE2). " +
			"Optional: path, a directory or file to search in; glob, a pattern of file names such as *.go. Returns " +
			"path:line: text.",
		objectSchema([]string{"pattern"}, map[string]string{"path": "string", "glob": "string"}),
	}
}

func (t search) prepare(raw json.RawMessage) (*action, error) {
	var a searchArguments
	if err := protocol.Decode(raw, &a); err != nil {
		return nil, err
	}
	at, err := t.arguments(encode(map[string]string{"path": a.Path}))
	if err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(a.Pattern)
	if err != nil || a.Pattern == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The pattern is no regular expression", Hint: "The syntax is RE2", Err: err,
		}
	}
	if _, err := path.Match(a.Glob, "name"); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalid, "The glob is no pattern of file names")
	}
	return &action{run: func(ctx context.Context) (string, error) {
		return t.search(ctx, &searchRun{files: t.files, pattern: pattern, glob: a.Glob}, at.Path)
	}}, nil
}

// searchRun is the state of one search.
type searchRun struct {
	files
	pattern *regexp.Regexp
	glob    string
	found   []string
	more    string // a note if the result is incomplete
}

// errEnough stops the walk at maxMatches.
var errEnough = errors.New("enough")

func (t search) search(ctx context.Context, h *searchRun, from string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	err := fs.WalkDir(t.root.FS(), from, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case limited.Err() != nil:
			return limited.Err()
		case err != nil && name == from:
			return failure(name, err)
		case err != nil:
			return nil //nolint:nilerr // unreadable files are skipped
		case entry.IsDir() && name != from && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		if matched, _ := path.Match(h.glob, entry.Name()); h.glob != "" && !matched {
			return nil
		}
		return h.file(name)
	})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		h.more = fmt.Sprintf("… not all files were searched within %s", searchTime)
	case err != nil && !errors.Is(err, errEnough):
		return "", err
	}
	if h.more != "" {
		h.found = append(h.found, h.more)
	}
	if len(h.found) == 0 {
		return "Nothing matches.", nil
	}
	return strings.Join(h.found, "\n"), nil
}

// file adds the matching lines of a file. Binary and too large files are skipped.
func (h *searchRun) file(name string) error {
	file, err := h.open(name, os.O_RDONLY)
	if err != nil {
		return nil // unreadable files are skipped
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSearchFile+1))
	if err != nil || len(content) > maxSearchFile || bytes.IndexByte(content, 0) >= 0 {
		return nil // skipped too
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		if !h.pattern.Match(line) {
			continue
		}
		if len(h.found) == maxMatches {
			h.more = fmt.Sprintf("… and more: the first %d matches are shown", maxMatches)
			return errEnough
		}
		text := protocol.SanitizeText(string(line))
		if runes := []rune(text); len(runes) > maxMatchLine {
			text = string(runes[:maxMatchLine]) + "…"
		}
		h.found = append(h.found, fmt.Sprintf("%s:%d: %s", printable(name), number, text))
	}
	return nil
}
