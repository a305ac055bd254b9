package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bellhop/protocol"
)

// Caps of a diff.
const (
	maxDiffFiles = 2000
	maxPatchRead = 16 << 20
	diffLimit    = time.Minute
	renameLimit  = "-l1000"
)

// Diff is what a session's workspace holds that it did not hold at first.
// CodeNotFound: the session has no workspace; CodeConflict: there is nothing to
// compare with, or too much.
func (m *Manager) Diff(ctx context.Context, sessionID, project string) (*protocol.Diff, error) {
	rec, err := m.record(sessionID)
	if err == nil && rec.Project != project {
		rec, err = m.record(otherKey(sessionID, project))
	}
	if err != nil {
		return nil, err
	}
	if rec.State != stateReady {
		return nil, errNoWorkspace()
	}
	if rec.Base == "" {
		return nil, errNoBase(rec)
	}
	release, err := m.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, diffLimit)
	defer cancel()
	return m.compare(ctx, rec)
}

func errNoBase(rec *record) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "There is nothing to compare the session's workspace with",
		Hint: orElse(rec.NoBase, "Begin another session: its first state is remembered"),
	}
}

func (m *Manager) compare(ctx context.Context, rec *record) (*protocol.Diff, error) {
	repo, err := m.compared(ctx, rec)
	if err != nil {
		return nil, err
	}
	scratch, remove, err := m.scratch()
	if err != nil {
		return nil, err
	}
	defer remove()
	own := repo
	own.index, own.objects = filepath.Join(scratch, "index"), filepath.Join(scratch, "objects")
	var known []string
	if rec.Kind == kindShared || rec.Kind == kindFound {
		known = append(known, m.baseObjects(rec))
	}
	tree, err := m.snapshot(ctx, repo, rec.Base, scratch, own.objects, known...)
	if err != nil {
		return nil, err
	}
	diff := &protocol.Diff{Base: rec.Base}
	if err := m.files(ctx, own, rec.Base, tree, diff); err != nil {
		return nil, err
	}
	if err := m.patch(ctx, own, rec.Base, tree, diff); err != nil {
		return nil, err
	}
	return diff, nil
}

// compared is the repository in which a workspace is compared with its base.
func (m *Manager) compared(ctx context.Context, rec *record) (repository, error) {
	if rec.Kind == kindShared || rec.Kind == kindFound {
		return m.shadow(ctx, rec)
	}
	repo, err := m.repository(ctx, rec)
	if err != nil {
		return repo, err
	}
	if _, err := os.Lstat(repo.workTree); err != nil {
		return repo, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The session's workspace is gone",
			Hint: "The session's next turn makes it again", Err: err,
		}
	}
	return repo, nil
}

// Both runs follow no attribute to a program.
func diffTree(args ...string) []string {
	return append([]string{"diff-tree", "-r", "-M", renameLimit, "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"}, args...)
}

// files reads the list: first what became of each, then how many lines.
func (m *Manager) files(ctx context.Context, repo repository, base, tree string, diff *protocol.Diff) error {
	out, err := m.git.run(ctx, call{
		repo: repo, limit: maxListing, time: diffLimit,
		args: diffTree("--raw", "--numstat", "-z", base, tree, "--"),
	})
	if errors.Is(err, errOutput) {
		return m.errTooMany()
	}
	if err != nil {
		return err
	}
	diff.Files, err = parseFiles(string(out))
	if len(diff.Files) > maxDiffFiles {
		diff.Files, diff.Truncated = diff.Files[:maxDiffFiles], true
	}
	return err
}

var errListing = errors.New("git's list of files cannot be read")

// parseFiles reads git's --raw --numstat -z. A renamed file has two names, in
// the one list after its state, in the other after an empty name.
func parseFiles(out string) ([]protocol.DiffFile, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	files, numbers := []protocol.DiffFile{}, 0
	for i := 0; i < len(fields) && fields[i] != ""; i++ {
		if raw, ok := strings.CutPrefix(fields[i], ":"); ok {
			parts := strings.Fields(raw)
			if len(parts) != 5 || i+1 >= len(fields) {
				return nil, errListing
			}
			file := protocol.DiffFile{Status: statusOf(parts[4])}
			i++
			if file.Status == protocol.DiffRenamed && i+1 < len(fields) {
				file.OldPath = protocol.SanitizeText(fields[i])
				i++
			}
			file.Path = protocol.SanitizeText(fields[i])
			files = append(files, file)
			continue
		}
		parts := strings.SplitN(fields[i], "\t", 3)
		if len(parts) != 3 || numbers >= len(files) {
			return nil, errListing
		}
		file := &files[numbers]
		numbers++
		if parts[2] == "" {
			i += 2
		}
		file.Binary = parts[0] == "-"
		file.Additions, _ = strconv.Atoi(parts[0])
		file.Deletions, _ = strconv.Atoi(parts[1])
	}
	return files, nil
}

func statusOf(letter string) protocol.DiffStatus {
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

// patch keeps whole files, as many as there is room for.
func (m *Manager) patch(ctx context.Context, repo repository, base, tree string, diff *protocol.Diff) error {
	out, err := m.git.run(ctx, call{
		repo: repo, limit: maxPatchRead, time: diffLimit,
		args: diffTree("--patch", "--src-prefix=a/", "--dst-prefix=b/", base, tree, "--"),
	})
	cutShort := errors.Is(err, errOutput)
	if err != nil && !cutShort {
		return err
	}
	var patch strings.Builder
	sections := split(out)
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
	return nil
}

// split separates a patch into its files. Lines of content begin with a sign or
// a space, so none looks like a header.
func split(patch []byte) [][]byte {
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
