package layering

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// parsers are the packages that read bytes of others, with the fuzz targets that they need. A new parser
// gets a row here and a target in its package; "make fuzz" finds it by its name.
var parsers = []struct {
	dir, reads string
	targets    []string
}{
	{"agent", "JSON lines that start and answer the headless agent", []string{"FuzzLines"}},
	{"agent/model", "streams and errors of models' providers", []string{"FuzzStream", "FuzzRefusal"}},
	{"agenthost/provider/acp", "JSON-RPC of agents over ACP", []string{"FuzzHandle"}},
	{"agenthost/provider/claude", "JSON lines of Claude Code", []string{"FuzzHandle"}},
	{"agenthost/provider/codex", "JSON-RPC of Codex", []string{"FuzzHandle"}},
	{"agenthost/provider/jsonl", "JSON lines of agents of one's own", []string{"FuzzHandle"}},
	{"agenthost/provider/opencode", "events of OpenCode", []string{"FuzzHandle"}},
	{"agenthost/recording", "recordings of a host", []string{"FuzzRead"}},
	{
		"agenthost/workspace", "git's output, refs and images of agents",
		[]string{"FuzzParseFiles", "FuzzReadRefs", "FuzzDimensions"},
	},
	{
		"agenthost/workspace/treereader", "indexes, lists of submodules and rules of ignored files of agents, and answers of the reader",
		[]string{"FuzzIndex", "FuzzRules", "FuzzAnswer", "FuzzTree", "FuzzModules"},
	},
	{"crypto/seal", "keysets and sealed values", []string{"FuzzOpen", "FuzzParse"}},
	{"crypto/token", "JWT", []string{"FuzzToken", "FuzzClaims"}},
	{"crypto/webpush", "keys of browsers", []string{"FuzzReceiver"}},
	{"internal/archive", "archives to import", []string{"FuzzRead"}},
	{"internal/configfile", "configuration of agents", []string{"FuzzJSON"}},
	{"internal/egress", "requests of programs to the proxy, and its rules", []string{"FuzzServe", "FuzzParseRules"}},
	{"internal/jsonlines", "lines of programs", []string{"FuzzReader"}},
	{"internal/markdown", "texts of agents that become Markdown", []string{"FuzzQuote"}},
	{"internal/masking", "texts and values of agents, of which secrets are masked", []string{"FuzzStrict"}},
	{"internal/mcpserver", "JSON-RPC of MCP clients", []string{"FuzzHandle"}},
	{"internal/retryafter", "headers of other servers", []string{"FuzzParse"}},
	{"internal/sse", "server-sent events", []string{"FuzzCodec", "FuzzReader"}},
	{"internal/yamlfile", "YAML", []string{"FuzzParse"}},
	{
		"policy", "policies, and tool calls with their shell commands",
		[]string{"FuzzParse", "FuzzDecide", "FuzzMembers", "FuzzStack"},
	},
	{
		"protocol", "events, lines, heads and messages of terminals, and names of files",
		[]string{"FuzzShownPath", "FuzzParseEvent", "FuzzParseLine", "FuzzParseTerminalRequest", "FuzzReadHead", "FuzzSanitizeJSON"},
	},
	{"webhook/inbound", "bodies that hosts post", []string{"FuzzBody"}},
}

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

func TestEveryParserHasItsFuzzTargets(t *testing.T) {
	t.Parallel()
	for _, p := range parsers {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p.dir), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range fuzzTarget.FindAllSubmatch(source, -1) {
				found = append(found, string(match[1]))
			}
		}
		for _, target := range p.targets {
			if !slices.Contains(found, target) {
				t.Errorf("%s, which reads %s, has no %s", p.dir, p.reads, target)
			}
		}
	}
}
