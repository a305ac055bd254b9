package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"bellhop/internal/lazyregexp"
)

// Programs of a session can change the settings of a repository that is used in place at any time: also
// between two runs of git. So git takes HEAD and index from there, and all else from a directory that only
// the host writes (GIT_COMMON_DIR).

// keptSettings are the settings of such a repository that change what git finds in its files. None of
// them names a program, a file or another repository.
const keptSettings = `^(core\.(filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|sparsecheckout|` +
	`sparsecheckoutcone|repositoryformatversion)|index\.sparse|extensions\.objectformat)$`

// plainValue matches booleans, numbers and words: values that need no quotes.
var plainValue = lazyregexp.New(`^[A-Za-z0-9]{1,32}$`)

// withHostSettings returns the repository of a work tree, with settings, refs and attributes from dir, which only
// the host writes. It fills dir with those that the repository has now. src is the repository that gitDir belongs to,
// nil if git has to find it.
func (m *Manager) withHostSettings(
	ctx context.Context, src *source, gitDir, workTree, dir string,
) (repository, error) {
	if src == nil {
		out, err := m.git.run(ctx, call{
			dir: m.data, repo: repository{gitDir: gitDir}, noFiles: true,
			args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"},
		})
		if err != nil {
			return repository{}, err
		}
		src = &source{gitDir: trimNewline(out)}
	}
	refs, err := m.projectRefs(ctx, src)
	if err != nil {
		return repository{}, err
	}
	settings, err := m.readSettings(ctx, gitDir)
	if err != nil {
		return repository{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o700); err != nil {
		return repository{}, err
	}
	err = errors.Join(
		writeFile(filepath.Join(dir, "config"), settings),
		writeFile(filepath.Join(dir, "packed-refs"), packedRefs(refs)),
		copyGitFiles(src, dir),
	)
	return repository{
		gitDir: gitDir, workTree: workTree, commonDir: dir, objectDir: filepath.Join(src.gitDir, "objects"),
	}, err
}

// readSettings returns keptSettings of a repository in the form of git's configuration.
func (m *Manager) readSettings(ctx context.Context, gitDir string) ([]byte, error) {
	out, err := m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: gitDir}, noFiles: true,
		args: []string{"config", "--includes", "--null", "--get-regexp", keptSettings},
	})
	if err != nil && !exitedWith(err, 1) { // 1: there are none
		return nil, err
	}
	var settings strings.Builder
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, value, ok := strings.Cut(entry, "\n")
		section, key, _ := strings.Cut(name, ".")
		switch {
		case name == "":
		case !ok: // a name without a value means true
			settings.WriteString("[" + section + "]\n\t" + key + "\n")
		case plainValue.MatchString(value):
			settings.WriteString("[" + section + "]\n\t" + key + " = " + value + "\n")
		}
	}
	return []byte(settings.String()), nil
}
