package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/protocol"
)

const (
	searchTime = 10 * time.Second
	// longestLine is how many bytes of a line are searched, so that a search can be stopped between lines.
	longestLine = 64 << 10
)

// Search finds lines in the files of a session's workspace that git does not ignore. It starts no program but the git
// that lists the files, and ends after 10 s with what it has found. CodeInvalid: the search cannot be understood.
// CodeNotFound: the session has no workspace.
func (m *Manager) Search(
	ctx context.Context, sessionID, project string, q protocol.FileSearch, mask func(text string) string,
) (*protocol.FileMatches, error) {
	expression, err := q.Compile()
	if err != nil {
		return nil, err
	}
	rec, root, err := m.openFiles(sessionID, project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	release, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer release()
	files, err := m.listWorkTree(ctx, rec)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, m.searchTime)
	defer cancel()
	run := &textSearch{
		root: root, q: q, expression: expression, mask: mask,
		found: &protocol.FileMatches{Matches: []protocol.FileMatch{}, More: files.partial},
	}
	slices.Sort(files.paths)
	for _, name := range files.paths {
		if !strings.HasSuffix(name, "/") && !run.file(limited, name) {
			run.found.More = true
			break
		}
	}
	return run.found, ctx.Err() // the caller left
}

// textSearch is one search in the files of a workspace.
type textSearch struct {
	root       *os.Root
	q          protocol.FileSearch
	expression *regexp.Regexp
	mask       func(text string) string
	found      *protocol.FileMatches
}

// file searches in one file. It returns false when a limit is reached. Links and devices are left out.
func (s *textSearch) file(ctx context.Context, name string) bool {
	if ctx.Err() != nil {
		return false
	}
	file, info, err := openFile(s.root, name)
	if err != nil {
		return true
	}
	defer file.Close()
	if info.Size() > protocol.MaxSearched {
		s.found.Skipped++
		return true
	}
	content, err := readPiece(file, 0, protocol.MaxSearched)
	if err != nil || bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0 {
		s.found.Skipped++
		return true
	}
	s.found.Files++
	if !s.mayContain(content) {
		return true
	}
	// A search in the file itself could ask for the letters of a secret, one after another.
	return s.lines(ctx, name, s.mask(string(content)))
}

// mayContain sorts out most files at little cost when a text is searched.
func (s *textSearch) mayContain(content []byte) bool {
	switch {
	case s.q.Regexp:
		return true
	case s.q.Case:
		return bytes.Contains(content, []byte(s.q.Query))
	default:
		return bytes.Contains(bytes.ToLower(content), bytes.ToLower([]byte(s.q.Query)))
	}
}

func (s *textSearch) lines(ctx context.Context, name, text string) bool {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if number%256 == 0 && ctx.Err() != nil {
			return false
		}
		line = strings.TrimRight(line[:min(len(line), longestLine)], "\r\n")
		at := s.expression.FindStringIndex(line)
		if at == nil {
			continue
		}
		if len(s.found.Matches) == protocol.MaxMatches {
			return false
		}
		s.found.Matches = append(s.found.Matches, protocol.FileMatch{
			Path: name, Line: number, Before: lastBytes(line[:at[0]]), Match: firstBytes(line[at[0]:at[1]]),
			After: firstBytes(line[at[1]:]),
		})
	}
	return !errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// firstBytes cuts a text at protocol.MaxMatchText bytes, between characters.
func firstBytes(text string) string { return protocol.CutText(text, protocol.MaxMatchText) }

// lastBytes is firstBytes for the end of a text.
func lastBytes(text string) string {
	if len(text) <= protocol.MaxMatchText {
		return text
	}
	text = text[len(text)-protocol.MaxMatchText:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
