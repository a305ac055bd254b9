package workspace

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
)

// giving collects what the agent's repository gets. close closes the files.
type giving struct {
	*Manager
	rec     *record
	changes []treereader.Change
	files   []*os.File
}

func (m *Manager) gitDir(rec *record) string { return filepath.Join(m.rootDir(rec), ".git") }

// open opens a file of the host.
func (g *giving) open(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	g.files = append(g.files, file)
	info, err := file.Stat()
	return file, info, err
}

// rewind makes the changes those of another attempt.
func (g *giving) rewind() error {
	for _, file := range g.files {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return nil
}

func (g *giving) close() {
	for _, file := range g.files {
		_ = file.Close()
	}
}

// objects packs the objects of a commit that another one does not have. The index of the pack comes last: git reads a
// pack only through its index.
func (g *giving) objects(ctx context.Context, repo repository, id, parent, scratch string) error {
	base := filepath.Join(scratch, "pack")
	out, err := g.git.run(ctx, call{
		repo: repo, noFiles: true, time: packTimeout, stdin: strings.NewReader(id + "\n^" + parent + "\n"),
		args: []string{"pack-objects", "--quiet", "--revs", "--non-empty", "--delta-base-offset", base},
	})
	name := filepath.Base(trimNewline(out))
	if err != nil || trimNewline(out) == "" {
		return err
	}
	if slices.ContainsFunc(g.changes, func(c treereader.Change) bool { return c.Path == "objects/pack/pack-"+name+".pack" }) {
		return nil
	}
	for _, suffix := range []string{".pack", ".idx"} {
		file, info, err := g.open(base + "-" + name + suffix)
		if err != nil {
			return err
		}
		g.changes = append(g.changes, treereader.Change{
			Path: "objects/pack/pack-" + name + suffix, Old: treereader.Old{Any: true},
			New: treereader.New{Mode: treereader.ModeFile, Size: info.Size(), Content: file, Perm: 0o444},
		})
	}
	return nil
}

// ref gives a ref a commit, whatever it has.
func (g *giving) ref(name, id string) {
	g.changes = append(g.changes, g.refChange(name, treereader.Old{Any: true}, id))
}

// write makes the changes. CodeBusy: another git command has a lock.
func (g *giving) write(ctx context.Context) error {
	_, err := g.runWriter(ctx, g.rec, g.gitDir(g.rec), true, g.changes)
	return errGiving(err)
}

func (m *Manager) refChange(name string, old treereader.Old, id string) treereader.Change {
	return treereader.Change{
		Path: name, Old: old, Lock: true, StaleBefore: m.staleBefore(),
		New: treereader.New{Mode: treereader.ModeFile, Size: int64(len(id) + 1), Content: strings.NewReader(id + "\n")},
	}
}

// staleBefore returns before when the lock of a git that was killed was made.
func (m *Manager) staleBefore() int64 { return m.now().Add(-staleLock).UnixNano() }

// contentOf expects a file with a content.
func contentOf(content string) treereader.Old {
	return treereader.Old{Mode: treereader.ModeFile, Size: int64(len(content)), Sum: treereader.SumOf([]byte(content))}
}
