package workspace

import (
	"bytes"
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

const (
	searchTime = 10 * time.Second
	// longestLine is how many bytes of a line are searched, so that a search can be stopped between lines.
	longestLine = 64 << 10
)

// Search finds lines in the files of a session's workspace that git does not ignore. It ends after 10 s
// with what it has found. CodeInvalid: the search cannot be understood. CodeNotFound: the session has no workspace.
func (m *Manager) Search(
	ctx context.Context, sessionID, project string, q protocol.FileSearch, mask func(text string) string,
) (*protocol.FileMatches, error) {
	expression, err := q.Compile()
	if err != nil {
		return nil, err
	}
	rec, err := m.filesOf(sessionID, project)
	if err != nil {
		return nil, err
	}
	release, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer release()
	known, err := m.listWorkTree(ctx, rec)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, m.searchTime)
	defer cancel()
	run := &textSearch{
		q: q, expression: expression, mask: mask,
		found: &protocol.FileMatches{Matches: []protocol.FileMatch{}, More: known.partial},
	}
	slices.Sort(known.paths)
	known.paths = slices.DeleteFunc(known.paths, func(name string) bool { return strings.HasSuffix(name, "/") })
	err = m.searchIn(limited, rec, known.paths, run)
	switch {
	case ctx.Err() != nil: // the caller left
		return nil, ctx.Err()
	case errors.Is(err, errEnough), limited.Err() != nil:
		run.found.More = true
	case err != nil:
		return nil, err
	}
	return run.found, nil
}

// errEnough ends a search that has reached a limit.
var errEnough = errors.New("a limit of the search is reached")

func (m *Manager) searchIn(ctx context.Context, rec *record, names []string, run *textSearch) error {
	files, err := m.openFiles(ctx, rec, "")
	if err != nil {
		return err
	}
	defer files.close()
	parts := make([]treereader.Part, len(names))
	for i, name := range names {
		parts[i] = treereader.Part{Path: path.Join(rec.Prefix, name), Limit: protocol.MaxSearched, IsWhole: true}
	}
	err = files.ReadEach(parts, func(i int, found treereader.Entry, content []byte, err error) error {
		if ctx.Err() != nil {
			return errEnough
		}
		if err == nil && found.Kind == treereader.KindFile && !run.file(ctx, names[i], found.Size, content) {
			return errEnough
		}
		return nil // links and devices are left out, and what was removed
	})
	if errors.Is(err, errEnough) {
		return err
	}
	return files.explain(err)
}

// textSearch is one search in the files of a workspace.
type textSearch struct {
	q          protocol.FileSearch
	expression *regexp.Regexp
	mask       func(text string) string
	found      *protocol.FileMatches
}

// file searches in one file. It returns false when a limit is reached.
func (s *textSearch) file(ctx context.Context, name string, size int64, content []byte) bool {
	if size > protocol.MaxSearched || bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0 {
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
