package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	module = "bellhop/"
	root   = "../.."
)

// source describes the files of one package, for all systems and build tags.
type source struct {
	documented bool
	imports    map[string]bool // of production files
}

func TestImportsFollowTheRules(t *testing.T) {
	t.Parallel()
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
		for _, imported := range slices.Sorted(maps.Keys(packages[name].imports)) {
			check(t, from, imported)
		}
	}
}

func check(t *testing.T, from pkg, imported string) {
	t.Helper()
	if dep, ours := strings.CutPrefix(imported, module); ours {
		if to, known := classify(dep); known && !mayImport(from, to) {
			t.Errorf("%s (%s) must not import %s (%s)", from.path, from.layer, dep, to.layer)
		}
	}
	if from.layer != kit && isTestPackage(imported) {
		t.Errorf("%s is production code and must not import %s", from.path, imported)
	}
}

// The library's peculiarities are handled in one place.
func TestTheLibraryOfStreamsIsUsedByFeedsOnly(t *testing.T) {
	t.Parallel()
	users := []string{}
	for name, p := range scan(t) {
		if p.imports["github.com/r3labs/sse/v2"] {
			users = append(users, name)
		}
	}
	if !slices.Equal(users, []string{"broker/feed"}) {
		t.Errorf("%q import r3labs/sse", users)
	}
}

// Files that people write are read by one package, which refuses what is not safe to read. The other library writes
// documents, and checks code.
func TestOnePackageReadsFilesOfYAML(t *testing.T) {
	t.Parallel()
	var readers []string
	for name, p := range scan(t) {
		for imported := range p.imports {
			switch {
			case strings.HasPrefix(imported, "go.yaml.in/yaml/"):
				readers = append(readers, name)
			case strings.Contains(imported, "yaml") && !strings.HasPrefix(imported, "bellhop/") &&
				!strings.HasPrefix(imported, "github.com/goccy/go-yaml"):
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if len(readers) != 1 || !strings.HasSuffix(readers[0], "internal/yamlfile") {
		t.Errorf("%q import go.yaml.in/yaml", readers)
	}
}

func isTestPackage(imported string) bool {
	return imported == "testing" || strings.HasPrefix(imported, "testing/") ||
		slices.Contains([]string{"net/http/httptest", "go.uber.org/goleak", "pgregory.net/rapid"}, imported)
}

// scanned reads the imports of the module once for all tests.
var scanned = sync.OnceValues(func() (map[string]*source, error) {
	if err := watch(); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Imports,IgnoredGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	packages := map[string]*source{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Doc    string
			Imports, IgnoredGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		s := &source{documented: p.Doc != "", imports: map[string]bool{}}
		for _, imported := range p.Imports {
			s.imports[imported] = true
		}
		for _, file := range p.IgnoredGoFiles {
			if err := s.read(filepath.Join(p.Dir, file)); err != nil {
				return nil, err
			}
		}
		packages[strings.TrimPrefix(p.ImportPath, module)] = s
	}
})

func scan(t *testing.T) map[string]*source {
	t.Helper()
	packages, err := scanned()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// watch opens the folders that "go list" reads, so that "go test" caches the result only while their files
// are unchanged.
func watch() error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file != root && isSkipped(d.Name()) {
			return fs.SkipDir
		}
		return err
	})
}

// isSkipped reports whether the go command ignores a folder.
func isSkipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules"
}

// read adds the imports of a file for another system, or with a build tag.
func (s *source) read(file string) error {
	if strings.HasSuffix(file, "_test.go") {
		return nil
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	s.documented = s.documented || tree.Doc != nil
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		s.imports[imported] = true
	}
	return nil
}

func TestRules(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
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
