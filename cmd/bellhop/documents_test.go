package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
	"mvdan.cc/sh/v3/syntax"
)

// documented are the pages whose blocks of commands stories/documents.txtar runs, and how many blocks at the
// beginning of each it leaves out or takes: a tutorial begins with a server that the story has started.
var documented = []struct {
	page        string
	first, last int // blocks; last 0 = to the end
}{
	{"agent.md", 1, 0},
	{"app.md", 1, 0},
	{"hosts.md", 1, 0},
	{"headless.md", 0, 1},
	{"notebooks.md", 1, 2},
}

var commandBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// endOfBlocks ends what the blocks start in the background.
const endOfBlocks = `trap 'kill $(jobs -p) $(cat .bellhop/ten-hosts/*/pid 2>/dev/null) 2>/dev/null || true' EXIT` + "\n"

// writeDocuments writes a script for each documented page, and gives the story the examples. The pages' fixed ports
// become free ones, $appPort among them.
func writeDocuments(env *testscript.Env) error {
	examples, err := filepath.Abs(filepath.Join(projectRoot, "examples"))
	if err != nil {
		return err
	}
	if err := os.Symlink(examples, filepath.Join(env.WorkDir, "examples")); err != nil {
		return err
	}
	agentPort, appPort, err := twoFreePorts()
	if err != nil {
		return err
	}
	env.Setenv("appPort", appPort)
	ports := strings.NewReplacer(
		":7800", ":"+agentPort, "=7800", "="+agentPort, ":3000", ":"+appPort, "=3000", "="+appPort,
	)
	for _, d := range documented {
		folder := filepath.Join(projectRoot, "docs")
		if _, err := os.Stat(filepath.Join(folder, d.page)); err != nil {
			folder = filepath.Join(folder, "tutorials")
		}
		content, err := os.ReadFile(filepath.Join(folder, d.page))
		if err != nil {
			return err
		}
		blocks := commandBlock.FindAllStringSubmatch(string(content), -1)
		if last := max(d.last, 1); len(blocks) < last || len(blocks) <= d.first {
			return fmt.Errorf("%s has only %d blocks", d.page, len(blocks))
		}
		if d.last > 0 {
			blocks = blocks[:d.last]
		}
		script := endOfBlocks
		for _, b := range blocks[d.first:] {
			script += b[1]
		}
		name := strings.TrimSuffix(d.page, ".md") + ".sh"
		if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(ports.Replace(script)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func twoFreePorts() (string, string, error) {
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer func() { _ = l.Close() }()
		_, ports[i], err = net.SplitHostPort(l.Addr().String())
		if err != nil {
			return "", "", err
		}
	}
	return ports[0], ports[1], nil
}

// Every command of bellhop in a block of commands exists, with its flags, also where no test runs it.
func TestTheCommandsOfTheDocumentationExist(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("bellhop"), helpVars())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, page := range documentationPages(t) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range commandBlock.FindAllStringSubmatch(string(content), -1) {
			for _, words := range bellhopCommands(t, page, block[1]) {
				count++
				if unknown := unknownWord(parser.Model.Node, words); unknown != "" {
					t.Errorf("%s: bellhop %s has no %q", page, strings.Join(words, " "), unknown)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d commands were found", count)
	}
}

func documentationPages(t *testing.T) (pages []string) {
	t.Helper()
	pages = append(pages, filepath.Join(projectRoot, "README.md"))
	err := filepath.WalkDir(filepath.Join(projectRoot, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".md" {
			pages = append(pages, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// bellhopCommands returns the words after bellhop, or after go run ./cmd/bellhop, of each command of a block. What
// follows -- belongs to another program.
func bellhopCommands(t *testing.T, page, block string) (all [][]string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(block), page)
	if err != nil {
		t.Fatal(err)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, arg := range call.Args {
			if arg.Lit() == "--" {
				break
			}
			words = append(words, arg.Lit())
		}
		line := strings.TrimPrefix(strings.Join(words, " "), "coproc ")
		for _, program := range []string{"bellhop ", "go run ./cmd/bellhop "} {
			if rest, ok := strings.CutPrefix(line, program); ok {
				all = append(all, strings.Split(rest, " "))
			}
		}
		return true
	})
	return all
}
