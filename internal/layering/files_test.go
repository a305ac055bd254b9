package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileCalls are functions that use a file by its name, by package.
var fileCalls = map[string][]string{
	"os": {
		"Chdir", "Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Lchown", "Link", "Lstat", "Mkdir", "MkdirAll",
		"MkdirTemp", "Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadDir", "ReadFile", "Readlink", "Remove", "RemoveAll", "Rename",
		"Stat", "Symlink", "Truncate", "WriteFile",
	},
	"filepath": {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"fs":       {"Glob", "ReadDir", "ReadFile", "Stat", "WalkDir"},
	"syscall":  {"Open", "Mkfifo", "Stat", "Lstat", "Unlink"},
	"unix": {
		"Open", "Openat", "Openat2", "OpenTree", "Fstatat", "Lstat", "Stat", "Statfs", "Mkdirat", "Mkfifo", "Renameat", "Renameat2", "Symlinkat",
		"Unlinkat", "Linkat", "Readlinkat", "Fchownat", "Fchmodat", "Mount", "MoveMount",
	},
	"owner":       {"Give", "Inherit", "MkdirAll", "OfPath"},
	"replacefile": {"Change", "Write"},
}

// rootMethods are those of *os.Root.
var rootMethods = []string{
	"Chmod", "Chown", "Chtimes", "Create", "Lchown", "Link", "Lstat", "Mkdir", "MkdirAll", "Open", "OpenFile", "OpenRoot", "ReadFile", "Readlink",
	"Remove", "RemoveAll", "Rename", "Stat", "Symlink", "WriteFile",
}

// rootNames are the names of variables with an *os.Root.
var rootNames = []string{"agent", "dir", "gitDir", "inner", "project", "root", "source", "target"}

// filesIn returns the file calls of each function below a directory, by "package function".
func filesIn(t *testing.T, top string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel(top, filepath.Dir(path))
		for _, decl := range file.Decls {
			calls := map[string]bool{}
			ast.Inspect(decl, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if call := fileCall(sel); call != "" {
						calls[call] = true
					}
				}
				return true
			})
			if len(calls) == 0 {
				continue
			}
			name := "variables"
			if f, ok := decl.(*ast.FuncDecl); ok {
				name = f.Name.Name
			}
			key := filepath.ToSlash(dir) + " " + name
			all := strings.Fields(found[key])
			for call := range calls {
				if !slices.Contains(all, call) {
					all = append(all, call)
				}
			}
			slices.Sort(all)
			found[key] = strings.Join(all, " ")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fileCall returns the name of a file call, "" for anything else.
func fileCall(sel *ast.SelectorExpr) string {
	if id, ok := sel.X.(*ast.Ident); ok {
		if names, isPackage := fileCalls[id.Name]; isPackage {
			if slices.Contains(names, sel.Sel.Name) {
				return id.Name + "." + sel.Sel.Name
			}
			return ""
		}
	}
	// A method: of a root if its receiver is named like one.
	if slices.Contains(rootMethods, sel.Sel.Name) {
		switch x := sel.X.(type) {
		case *ast.Ident:
			if slices.Contains(rootNames, x.Name) {
				return "root." + sel.Sel.Name
			}
		case *ast.SelectorExpr:
			if x.Sel.Name == "root" {
				return "root." + sel.Sel.Name
			}
		}
	}
	return ""
}

// Every file call of agenthost is in a table, with whose place it uses. A new one in a place that an agent can write goes
// through the reader or the writer of agenthost/workspace/treereader, whose process is confined; the rows of kind "agent"
// are those of the host's process that do not yet.
func TestFileCallsOfAgenthost(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile(filepath.Join("testdata", "files.txt"))
	if err != nil {
		t.Fatal(err)
	}
	found, seen := filesIn(t, filepath.Join("..", "..", "agenthost")), map[string]bool{}
	rows := map[string][]string{}
	for line := range strings.Lines(string(table)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, ";", 4)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 4 || !slices.Contains([]string{"host", "project", "child", "agent", "test"}, cells[1]) || cells[3] == "" {
			t.Errorf("a row that cannot be read: %s", line)
			continue
		}
		rows[cells[0]] = cells
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		key, calls := name, found[name]
		row, ok := rows[key]
		if !ok {
			pkg, _, _ := strings.Cut(name, " ")
			key = pkg + " *"
			row, ok = rows[key]
		}
		if seen[key] = true; !ok {
			t.Errorf("%s uses files by %q: give it a row in testdata/files.txt. Where an agent can write, use a reader or writer", name, calls)
			continue
		}
		if strings.HasSuffix(key, " *") {
			if row[1] == "agent" {
				t.Errorf("%s: a whole package cannot be in agents' places", key)
			}
			continue
		}
		if row[2] != calls {
			t.Errorf("%s uses files by %q, its row has %q", key, calls, row[2])
		}
	}
	for key := range rows {
		if !seen[key] {
			t.Errorf("%s uses no files: remove its row", key)
		}
	}
}
