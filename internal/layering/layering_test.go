package layering

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	module = "bellhop/"
	root   = "../.."
)

// source describes the files of one directory.
type source struct {
	documented bool
	imports    map[string]string // import path → a production file with that import
}

func TestImportsFollowTheRules(t *testing.T) {
	packages := scan(t)
	if len(packages) < 5 {
		t.Fatalf("only %d packages below %s", len(packages), root)
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		from, known := classify(name)
		if !known {
			t.Errorf("%s has no rule: choose its layer and add it to rules_test.go", name)
			continue
		}
		if !packages[name].documented {
			t.Errorf("%s has no package comment: describe in doc.go what it owns and what it does not", name)
		}
		for imported, file := range packages[name].imports {
			check(t, from, imported, file)
		}
	}
}

func check(t *testing.T, from pkg, imported, file string) {
	t.Helper()
	if dep, ours := strings.CutPrefix(imported, module); ours {
		if to, known := classify(dep); known && !mayImport(from, to) {
			t.Errorf("%s: %s (%s) must not import %s (%s)", file, from.path, from.layer, dep, to.layer)
		}
	}
	if from.layer != kit && isTestPackage(imported) {
		t.Errorf("%s: %s is production code and must not import %s", file, from.path, imported)
	}
}

// The library's peculiarities are handled in one place: section 4 of docs/reliability.md.
func TestTheLibraryOfStreamsIsUsedByFeedsOnly(t *testing.T) {
	users := []string{}
	for name, p := range scan(t) {
		if _, uses := p.imports["github.com/r3labs/sse/v2"]; uses {
			users = append(users, name)
		}
	}
	if !slices.Equal(users, []string{"broker/feed"}) {
		t.Errorf("%q import r3labs/sse", users)
	}
}

// Files and checked code are YAML in the same sense.
func TestThereIsOneYAMLLibrary(t *testing.T) {
	users := 0
	for name, p := range scan(t) {
		for imported := range p.imports {
			switch {
			case strings.HasPrefix(imported, "github.com/goccy/go-yaml"):
				users++
			case strings.Contains(imported, "yaml") && !strings.HasPrefix(imported, "bellhop/"):
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if users == 0 {
		t.Error("no package imports goccy/go-yaml")
	}
}

func isTestPackage(imported string) bool {
	return imported == "testing" || strings.HasPrefix(imported, "testing/") ||
		slices.Contains([]string{"net/http/httptest", "go.uber.org/goleak", "pgregory.net/rapid"}, imported)
}

// scan opens the files itself, so that `go test` caches the result only while they
// are unchanged.
func scan(t *testing.T) map[string]*source {
	t.Helper()
	packages := map[string]*source{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && isSkipped(file, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		return read(packages, file)
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// skipped reports whether the go command ignores a directory, or whether it is another
// module.
func isSkipped(dir, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func read(packages map[string]*source, file string) error {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	name := path.Dir(rel)
	p := packages[name]
	if p == nil {
		p = &source{imports: map[string]string{}}
		packages[name] = p
	}
	if tree.Doc != nil && !strings.HasSuffix(tree.Name.Name, "_test") {
		p.documented = true
	}
	if strings.HasSuffix(rel, "_test.go") {
		return nil
	}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		p.imports[imported] = rel
	}
	return nil
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule, from, to string
		may            bool
	}{
		{"protocol imports nothing of ours", "protocol", "internal/sse", false},
		{"leaves may use each other", "internal/httpapi", "crypto/token", true},
		{"leaves may use the protocol", "crypto/seal", "protocol", true},
		{"leaves import no domain", "internal/database", "broker", false},
		{"domains may use leaves", "broker", "internal/failpoint", true},
		{"domains never import each other", "notebook", "broker", false},
		{"domains never import each other, outbound included", "broker", "webhook/outbound", false},
		{"domains do not import their edges", "broker", "broker/store", false},
		{"a core knows words alone", "broker/sequencer", "internal/failpoint", false},
		{"a core knows words alone, not its domain", "broker/sequencer", "broker", false},
		{"a core may use a leaf that only decides", "agenthost/core", "policy", true},
		{"a part uses its domain's core", "agenthost/delivery", "agenthost/core", true},
		{"a part does not know its domain", "agenthost/delivery", "agenthost", false},
		{"a domain uses its parts", "agenthost", "agenthost/delivery", true},
		{"an edge leaves the parts of its domain alone", "agenthost/api", "agenthost/delivery", false},
		{"a domain may ask its core", "broker", "broker/sequencer", true},
		{"a domain may ask no other core", "notebook", "broker/sequencer", false},
		{"an edge leaves its domain's core alone", "broker/store", "broker/sequencer", false},
		{"a part may use leaves", "agenthost/stream", "internal/sse", true},
		{"a part does not know its domain", "agenthost/stream", "agenthost", false},
		{"parts of one domain never import each other", "agenthost/headless", "agenthost/stream", false},
		{"a domain may use its parts", "agenthost", "agenthost/stream", true},
		{"no other domain uses them", "broker", "agenthost/stream", false},
		{"an edge leaves its domain's parts alone", "agenthost/api", "agenthost/stream", false},
		{"an edge may import its domain", "broker/store", "broker", true},
		{"inbound is an edge of the broker", "webhook/inbound", "broker", true},
		{"an edge imports no other domain", "broker/api", "agenthost", false},
		{"siblings never import each other", "broker/api", "broker/store", false},
		{
			"siblings never import each other, providers included", "agenthost/provider/claude",
			"agenthost/provider/acp", false,
		},
		{"edges of one domain may share a package", "agenthost/provider/claude", "agenthost/provider/stdio", true},
		{"edges of another domain do not share it", "broker/api", "agenthost/provider/stdio", false},
		{"a package that edges share imports none of them", "agenthost/provider/stdio", "agenthost/provider/claude", false},
		{"siblings never import each other, at any depth", "webhook/inbound", "broker/store", false},
		{"an edge may have parts", "broker/store", "broker/store/row", true},
		{"a client may use the stream codec", "client", "internal/sse", true},
		{"a client uses no other leaf", "client", "internal/database", false},
		{"a client imports no domain", "client", "broker", false},
		{"app may import everything", "internal/app", "webhook/inbound", true},
		{"no package imports cmd", "internal/app", "cmd/bellhop", false},
		{"cmd may use app", "cmd/bellhop", "internal/app", true},
		{"only cmd and kits use app", "broker/api", "internal/app", false},
		{"production code imports no kit", "internal/app", "internal/testenv", false},
		{"production code imports no kit, not even its own", "broker/store", "broker/store/storetest", false},
		{"a kit may import anything", "broker/store/storetest", "internal/app", true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			from, ok1 := classify(c.from)
			to, ok2 := classify(c.to)
			if !ok1 || !ok2 {
				t.Fatal("no rule")
			}
			if got := mayImport(from, to); got != c.may {
				t.Errorf("%s (%s) → %s (%s): %v", c.from, from.layer, c.to, to.layer, got)
			}
		})
	}
	for _, p := range []string{"utils", "broker2", "webhook", "crypto", "internal/database/deep", "migrations/postgres"} {
		if c, known := classify(p); known {
			t.Errorf("%s is %s, want no rule", p, c.layer)
		}
	}
}
