package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// maxHunkFile is the largest file of which a hunk is discarded. Git takes larger files for binary
// (core.bigFileThreshold), so they have no hunks.
const maxHunkFile = 8 << 20

// DiscardHunk gives a part of a file the content that it had when the session began. The file must be as in the snapshot
// of the diff that was shown, and the hunk among its changes, byte for byte as shown makes them; the rest of the file
// stays. If the hunk is all of an added or a deleted file, the file is removed or comes back. A file that is as the
// session began is left so. CodeInvalid: no snapshot. CodeConflict: the file has changed since, there is no such hunk, or
// the file cannot be changed in part; nothing is changed then.
func (m *Manager) DiscardHunk(
	ctx context.Context, sessionID, project string, req *protocol.DiscardRequest, shown func(string) string,
) (*protocol.DiscardResponse, error) {
	err := m.discardIn(ctx, sessionID, project, req, func(ctx context.Context, d *discarding) error {
		hunk := *req.Hunk
		hunk.Path = protocol.PathShown(hunk.Path)
		return d.hunk(ctx, &hunk, shown)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.DiscardResponse{Success: true, SessionID: sessionID, Files: 1}, nil
}

func (d *discarding) hunk(ctx context.Context, wanted *protocol.DiscardHunk, shown func(string) string) error {
	isDone, err := d.check(wanted.Path)
	if err != nil {
		return err
	}
	if _, wasChanged := d.since[wanted.Path]; isDone && wasChanged {
		return nil // a repeat
	}
	changed, section, err := d.changesIn(ctx, d.now, basisOf(d.rec), wanted.Path)
	if err != nil {
		return err
	}
	for _, text := range splitHunks(section) {
		if shown(protocol.SanitizeText(string(text))) != wanted.Text {
			continue
		}
		switch {
		case changed.hasOneHunk() && changed.oldPath != wanted.Path: // a link that was renamed
			return errNotInPart(wanted.Path)
		case changed.hasOneHunk():
			return d.files(ctx, []string{wanted.Path})
		}
		parsed, err := parseHunk(text)
		if err != nil {
			return err
		}
		return d.revertHunk(ctx, wanted.Path, parsed)
	}
	return errNoHunk(wanted.Path)
}

func errNoHunk(name string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The changes of %q have no such part any more", name),
		Hint: "The file was changed meanwhile, or the part was discarded before. Read the changes again",
	}
}

// fileChange says how a file differs from the basis of the diff. A mode of 000000 means that there is no file.
type fileChange struct {
	oldMode, newMode string
	oldPath          string // of a renamed file, otherwise its path
}

const (
	noMode   = "000000"
	linkMode = "120000"
)

// hasOneHunk reports whether the file has one hunk, which is all of its changes.
func (c fileChange) hasOneHunk() bool {
	return c.oldMode == noMode || c.newMode == noMode || c.newMode == linkMode
}

// changesIn returns how a file of a snapshot differs from the basis of the diff, with its part of the patch.
func (m *Manager) changesIn(ctx context.Context, s *snapshot, base, name string) (fileChange, []byte, error) {
	changed, err := m.findChange(ctx, s.repo, base, s.Tree, name)
	if err != nil {
		return changed, nil, err
	}
	out, err := m.git.run(ctx, call{
		repo: s.repo, limit: maxPatchOutput, time: diffTimeout,
		args: diffTree("--patch", "--src-prefix=a/", "--dst-prefix=b/", base, s.Tree, "--", changed.oldPath, name),
	})
	if errors.Is(err, errOutputLimit) {
		return changed, nil, errNotInPart(name)
	}
	// A file that replaced a directory, or became a link, has several parts in the patch.
	if sections := splitPatch(out); err == nil && len(sections) != 1 {
		err = errNotInPart(name)
	}
	return changed, out, err
}

func errNotInPart(name string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The changes of %q cannot be discarded in part", name),
		Hint: "Discard those of the whole file",
	}
}

// findChange finds a file in git's list of changes. CodeConflict: it has none.
func (m *Manager) findChange(ctx context.Context, repo repository, base, tree, name string) (fileChange, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, limit: maxListing, time: diffTimeout, args: diffTree("--raw", "-z", base, tree, "--"),
	})
	if errors.Is(err, errOutputLimit) {
		return fileChange{}, errTooManyChanges
	}
	if err != nil {
		return fileChange{}, err
	}
	fields := strings.Split(string(out), "\x00")
	for len(fields) > 1 {
		facts := strings.Fields(strings.TrimPrefix(fields[0], ":")) // modes, hashes, status
		if len(facts) != 5 {
			return fileChange{}, errListing
		}
		found := fileChange{oldMode: facts[0], newMode: facts[1], oldPath: fields[1]}
		used := 2
		if diffStatus(facts[4]) == protocol.DiffRenamed {
			used = 3
		}
		if len(fields) < used {
			return fileChange{}, errListing
		}
		if fields[used-1] == name {
			return found, nil
		}
		fields = fields[used:]
	}
	return fileChange{}, errNoHunk(name)
}

// splitHunks returns the hunks of a file's part of a patch. Only their first lines begin with @@.
func splitHunks(section []byte) [][]byte {
	var hunks [][]byte
	for line := range bytes.Lines(section) {
		switch {
		case bytes.HasPrefix(line, []byte("@@ ")):
			hunks = append(hunks, line[:len(line):len(line)])
		case len(hunks) > 0:
			hunks[len(hunks)-1] = append(hunks[len(hunks)-1], line...)
		}
	}
	return hunks
}

// parsedHunk is a hunk with the lines of the file before and after the change, each with its line end.
type parsedHunk struct {
	start         int // of the lines after the change, from 0
	before, after [][]byte
}

var hunkHead = lazyregexp.New(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@`)

func parseHunk(text []byte) (*parsedHunk, error) {
	head := hunkHead.FindSubmatch(text)
	if head == nil {
		return nil, errListing
	}
	start, err := strconv.Atoi(string(head[1]))
	if err != nil {
		return nil, err
	}
	if string(head[2]) != "0" { // of no lines, the number is that of the line before them
		start--
	}
	hunk := &parsedHunk{start: start}
	last := byte(' ')
	for line := range bytes.Lines(text[bytes.IndexByte(text, '\n')+1:]) {
		sign, content := line[0], line[1:]
		if sign == '\\' { // the line before has no line end
			hunk.trimLast(last)
			continue
		}
		if sign != '+' {
			hunk.before = append(hunk.before, content)
		}
		if sign != '-' {
			hunk.after = append(hunk.after, content)
		}
		last = sign
	}
	return hunk, nil
}

// trimLast removes the line end of the last line before the change, after it, or both.
func (h *parsedHunk) trimLast(sign byte) {
	for _, side := range []struct {
		lines [][]byte
		other byte
	}{{h.before, '+'}, {h.after, '-'}} {
		if n := len(side.lines); n > 0 && sign != side.other {
			side.lines[n-1] = bytes.TrimSuffix(side.lines[n-1], []byte("\n"))
		}
	}
}

// revertHunk replaces the lines of a hunk in a file of the workspace by those before the change.
func (d *discarding) revertHunk(ctx context.Context, name string, hunk *parsedHunk) error {
	old := d.expected(name)
	if old.Mode != treereader.ModeFile && old.Mode != treereader.ModeProgram || old.Size > maxHunkFile {
		return errNotInPart(name)
	}
	content, err := d.readExpected(ctx, d.rec, name, old)
	if err != nil {
		return err
	}
	reverted, ok := hunk.revert(content)
	if !ok {
		return errNoHunk(name)
	}
	return d.write(ctx, d.rec, d.rootDir(d.rec), []treereader.Change{{Path: name, Old: old, New: treereader.New{
		Mode: old.Mode, Size: int64(len(reverted)), Content: bytes.NewReader(reverted),
	}}})
}

// revert returns the content with the lines of the hunk as they were; false if the content does not have its lines.
// Lines that git stores with another line end than the file has keep the file's.
func (h *parsedHunk) revert(content []byte) ([]byte, bool) {
	lines := bytes.SplitAfter(content, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	end := h.start + len(h.after)
	if h.start < 0 || end > len(lines) {
		return nil, false
	}
	isConverted := false
	for i, want := range h.after {
		got := lines[h.start+i]
		if bytes.Equal(got, want) {
			continue
		}
		if !bytes.Equal(got, withCRLF(want)) {
			return nil, false
		}
		isConverted = true
	}
	out := bytes.Join(lines[:h.start], nil)
	for _, line := range h.before {
		if isConverted {
			line = withCRLF(line)
		}
		out = append(out, line...)
	}
	return append(out, bytes.Join(lines[end:], nil)...), true
}

// withCRLF returns a line with the line end of Windows; a line without a line end stays.
func withCRLF(line []byte) []byte {
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	if !ended || bytes.HasSuffix(text, []byte("\r")) {
		return line
	}
	return append(text[:len(text):len(text)], "\r\n"...)
}
