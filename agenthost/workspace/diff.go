package workspace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/protocol"
)

// Limits of a diff.
const (
	maxDiffFiles   = 2000
	maxPatchOutput = 16 << 20
	diffTimeout    = 35 * time.Second // less than a broker waits, so that the user reads why
	renameLimit    = "-l1000"
)

// Diff compares a session's workspace with its basis. CodeNotFound: the session
// has no workspace. CodeConflict: there is no basis, or the diff is too large.
func (m *Manager) Diff(ctx context.Context, sessionID, project string) (*protocol.Diff, error) {
	rec, err := m.existingRecord(sessionID, project)
	if err != nil {
		return nil, err
	}
	if rec.State != stateReady {
		return nil, errNoWorkspace()
	}
	if rec.Base == "" {
		return nil, errNoBase(rec)
	}
	release, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, m.diffTime)
	defer cancel()
	var diff *protocol.Diff
	err = m.withSnapshot(ctx, rec, nil, func(ctx context.Context, s *snapshot) (err error) {
		diff, err = m.diffOf(ctx, rec, s)
		return err
	})
	return diff, errUnwritable(err)
}

func errNoBase(rec *record) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "There is nothing to compare the session's workspace with",
		Hint: cmp.Or(rec.NoBase, "Begin another session: its first state is remembered"),
	}
}

// diffOf compares a snapshot with the basis of its workspace.
func (m *Manager) diffOf(ctx context.Context, rec *record, s *snapshot) (*protocol.Diff, error) {
	kept := filepath.Join(m.snapshotDir(rec), diffFile)
	diff, ok := readDiff(kept, rec.Base, s.Tree)
	if !ok {
		diff = &protocol.Diff{Base: rec.Base}
		if err := m.readDiff(ctx, s.repo, basisOf(rec), s.Tree, diff); err != nil {
			return nil, err
		}
		if err := writeDiff(kept, s.Tree, diff); err != nil {
			return nil, err
		}
	}
	diff.Snapshot, diff.Head, diff.LeftOutCount = s.ID, s.Head.Commit, len(s.LeftOut)+s.More
	for _, left := range s.LeftOut[:min(len(s.LeftOut), protocol.MaxLeftOut)] {
		diff.LeftOut = append(diff.LeftOut, protocol.LeftOut{
			Path: protocol.CutText(protocol.ShownPath(left.Path), protocol.MaxLeftOutPath), Reason: left.Reason.String(),
		})
	}
	diff.InnerRepositories, diff.InnerRepositoryCount = innerOf(s, diff.Files)
	return diff, nil
}

// innerOf returns the first repositories inside that have some of the changed files, and the number of all.
func innerOf(s *snapshot, files []protocol.DiffFile) (first []string, count int) {
	if len(s.Inner) == 0 {
		return nil, 0
	}
	isChanged := map[string]bool{} // directories
	for i := range files {
		for dir := path.Dir(files[i].Path); dir != "." && !isChanged[dir]; dir = path.Dir(dir) {
			isChanged[dir] = true
		}
	}
	for _, dir := range s.Inner {
		if dir = protocol.ShownPath(dir); !isChanged[dir] {
			continue
		}
		if count++; count <= protocol.MaxInner {
			first = append(first, dir)
		}
	}
	return first, count
}

// keptDiff is the last diff of a workspace: a repeat without a change costs nothing more than the reading.
type keptDiff struct {
	Tree string         `json:"tree"`
	Diff *protocol.Diff `json:"diff"`
}

// readDiff returns the diff of a basis and a tree if it is the last one.
func readDiff(file, base, tree string) (*protocol.Diff, bool) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	var kept keptDiff
	if json.Unmarshal(content, &kept) != nil || kept.Diff == nil || kept.Tree != tree || kept.Diff.Base != base {
		return nil, false
	}
	return kept.Diff, true
}

func writeDiff(file, tree string, diff *protocol.Diff) error {
	content, err := protocol.Marshal(keptDiff{tree, diff})
	if err != nil {
		return err
	}
	return writeFile(file, content)
}

// patchArgs make diffTree show the changes of files.
var patchArgs = []string{"--patch", "--src-prefix=a/", "--dst-prefix=b/"}

// readDiff fills diff.Files and diff.Patch by one run of git. A long output is read again in two parts, because
// each has a limit of its own.
func (m *Manager) readDiff(ctx context.Context, repo repository, base, tree string, diff *protocol.Diff) error {
	args := append([]string{"--raw", "--numstat", "-z"}, patchArgs...)
	out, err := m.git.run(ctx, call{
		repo: repo, limit: maxPatchOutput, time: diffTimeout, args: diffTree(append(args, base, tree, "--")...),
	})
	if errors.Is(err, errOutputLimit) {
		if err := m.readFiles(ctx, repo, base, tree, diff); err != nil {
			return err
		}
		return m.readPatch(ctx, repo, base, tree, diff)
	}
	if err != nil {
		return err
	}
	// No field of the list is empty, so the first empty one ends it.
	list, patch, _ := bytes.Cut(out, []byte("\x00\x00"))
	files, err := parseFiles(string(list))
	if err != nil {
		return err
	}
	setFiles(diff, files)
	if !utf8.Valid(list) { // then the patch is read again, with the names as git quotes them
		return m.readPatch(ctx, repo, base, tree, diff)
	}
	setPatch(diff, patch, false)
	return nil
}

// diffTree returns the arguments of a diff that starts no program: attributes of
// the repository cannot name a diff or textconv command.
func diffTree(args ...string) []string {
	return append([]string{
		"diff-tree", "-r", "-M", renameLimit, "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty",
	}, args...)
}

// readFiles fills diff.Files with the status and the line counts of each file.
func (m *Manager) readFiles(ctx context.Context, repo repository, base, tree string, diff *protocol.Diff) error {
	files, err := m.changedFiles(ctx, repo, base, tree)
	setFiles(diff, files)
	return err
}

// changedFiles returns the status and the line counts of each file that differs between two trees.
func (m *Manager) changedFiles(ctx context.Context, repo repository, base, tree string) ([]protocol.DiffFile, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, limit: maxListing, time: diffTimeout,
		args: diffTree("--raw", "--numstat", "-z", base, tree, "--"),
	})
	if errors.Is(err, errOutputLimit) {
		return nil, errTooManyChanges
	}
	if err != nil {
		return nil, err
	}
	return parseFiles(string(out))
}

// setFiles fills diff.Files with as many files as an answer has.
func setFiles(diff *protocol.Diff, files []protocol.DiffFile) {
	if diff.Files = files; len(files) > maxDiffFiles {
		total := diff.Counts()
		diff.Files, diff.Truncated, diff.Total = files[:maxDiffFiles], true, &total
	}
}

var errTooManyChanges = &protocol.Error{
	Code: protocol.CodeConflict, Message: "The workspace has too many changes to list them",
	Hint: "List packages and build output in .gitignore",
}

var errListing = errors.New("git's list of files cannot be read")

// parseFiles parses the output of git's --raw --numstat -z: first a status entry
// for each file, then a line count for each in the same order.
func parseFiles(out string) ([]protocol.DiffFile, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	files, counted := []protocol.DiffFile{}, 0
	for len(fields) > 0 && fields[0] != "" {
		var err error
		switch {
		case strings.HasPrefix(fields[0], ":"):
			var file protocol.DiffFile
			file, fields, err = parseStatus(fields)
			files = append(files, file)
		case counted < len(files):
			fields, err = parseCounts(fields, &files[counted])
			counted++
		default:
			err = errListing
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// parseStatus parses ":mode mode hash hash status" and the one or two names after
// it, and returns the fields that follow.
func parseStatus(fields []string) (protocol.DiffFile, []string, error) {
	parts := strings.Fields(fields[0][1:])
	if len(parts) != 5 || len(fields) < 2 {
		return protocol.DiffFile{}, nil, errListing
	}
	file := protocol.DiffFile{Status: diffStatus(parts[4])}
	fields = fields[1:]
	if file.Status == protocol.DiffRenamed && len(fields) > 1 {
		file.OldPath, fields = protocol.ShownPath(fields[0]), fields[1:]
	}
	file.Path = protocol.ShownPath(fields[0])
	return file, fields[1:], nil
}

// parseCounts parses "additions TAB deletions TAB name". The name of a renamed file
// is empty, and two fields with its old and new name follow.
func parseCounts(fields []string, file *protocol.DiffFile) ([]string, error) {
	parts := strings.SplitN(fields[0], "\t", 3)
	if len(parts) != 3 {
		return nil, errListing
	}
	used := 1
	if parts[2] == "" {
		used = min(3, len(fields))
	}
	file.Binary = parts[0] == "-"
	file.Additions, _ = strconv.Atoi(parts[0])
	file.Deletions, _ = strconv.Atoi(parts[1])
	return fields[used:], nil
}

func diffStatus(letter string) protocol.DiffStatus {
	switch letter[0] {
	case 'A':
		return protocol.DiffAdded
	case 'D':
		return protocol.DiffDeleted
	case 'R':
		return protocol.DiffRenamed
	case 'T':
		return protocol.DiffTypeChanged
	default:
		return protocol.DiffModified
	}
}

// readPatch fills diff.Patch. Names of which not all bytes are plain are quoted.
func (m *Manager) readPatch(ctx context.Context, repo repository, base, tree string, diff *protocol.Diff) error {
	out, err := m.git.run(ctx, call{
		repo: repo, limit: maxPatchOutput, time: diffTimeout, config: [][2]string{{"core.quotePath", "true"}},
		args: diffTree(append(patchArgs[:len(patchArgs):len(patchArgs)], base, tree, "--")...),
	})
	cutShort := errors.Is(err, errOutputLimit)
	if err != nil && !cutShort {
		return err
	}
	setPatch(diff, out, cutShort)
	return nil
}

// setPatch fills diff.Patch from a patch, of which the end may be missing. It includes only complete files, up to
// protocol.MaxPatch bytes.
func setPatch(diff *protocol.Diff, out []byte, cutShort bool) {
	var patch strings.Builder
	sections := splitPatch(out)
	for i, section := range sections {
		text := protocol.SanitizeText(string(section))
		if cutShort && i == len(sections)-1 || patch.Len()+len(text) > protocol.MaxPatch {
			diff.Truncated = true
			continue
		}
		patch.WriteString(text)
	}
	diff.Patch = patch.String()
	diff.Truncated = diff.Truncated || cutShort
}

// splitPatch splits a patch into its files. Content lines begin with a sign or a
// space, so none can pass for a header.
func splitPatch(patch []byte) [][]byte {
	const header = "diff --git "
	var out [][]byte
	for len(patch) > 0 {
		end := len(patch)
		if next := bytes.Index(patch[1:], []byte("\n"+header)); next >= 0 {
			end = next + 2
		}
		out, patch = append(out, patch[:end]), patch[end:]
	}
	return out
}
