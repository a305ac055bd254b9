package verify

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bellhop/internal/lazyregexp"
)

// aliases maps other names of languages to the ones Verify uses.
var aliases = map[string]string{
	"golang": "go",
	"js":     "javascript", "node": "javascript", "mjs": "javascript", "cjs": "javascript", "ecmascript": "javascript",
	"ts": "typescript", "mts": "typescript", "cts": "typescript",
	"bash": "shell", "shellscript": "shell", "ksh": "shell", "posix": "sh",
	"yml": "yaml", "svg": "xml", "terraform": "hcl", "tf": "hcl", "proto": "protobuf", "proto3": "protobuf",
	"py": "python", "python3": "python", "rs": "rust", "c++": "cpp", "md": "markdown", "htm": "html",
	"docker": "dockerfile", "c#": "csharp", "cs": "csharp", "rb": "ruby", "kt": "kotlin", "kts": "kotlin",
	"ex": "elixir", "exs": "elixir", "h": "c", "cc": "cpp", "cxx": "cpp", "hpp": "cpp", "xhtml": "html", "php7": "php",
	"php8": "php", "postgresql": "sql", "mysql": "sql", "sqlite": "sql", "plaintext": "text", "txt": "text",
}

// canonical returns the name Verify uses for a language, "" if none was given.
func canonical(language string) string {
	name := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(language, ".")))
	if known, ok := aliases[name]; ok {
		return known
	}
	return name
}

// isHeader reports that a language was named by the suffix of headers, which C and C++ share. canonical takes it for C.
func isHeader(language string) bool {
	return strings.EqualFold(strings.TrimPrefix(strings.TrimSpace(language), "."), "h")
}

// Unknown is Detect's result when no pattern matches.
const Unknown = "unknown"

// patterns are tried in order; the first match decides.
var patterns = []struct {
	language string
	pattern  *lazyregexp.Regexp
}{
	{"python", lazyregexp.New(`\A#!.*\bpython`)},
	{"javascript", lazyregexp.New(`\A#!.*\b(node|deno|bun)\b`)},
	{"shell", lazyregexp.New(`\A#!.*\b(bash|ksh)\b`)},
	{"sh", lazyregexp.New(`\A#!.*\b(sh|dash|ash)\b`)},
	{"ruby", lazyregexp.New(`\A#!.*\bruby`)},
	{"php", lazyregexp.New(`\A(#!.*\bphp.*\n)?\s*<\?php\b`)},
	{"xml", lazyregexp.New(`\A\s*(<\?xml\b|<svg[\s>])`)},
	{"html", lazyregexp.New(`(?i)\A\s*(<!doctype html|<html[\s>])`)},
	{"protobuf", lazyregexp.New(`(?m)^\s*(syntax|edition)\s*=\s*"(proto[23]|20\d\d)"\s*;`)},
	{"go", lazyregexp.New(`(?m)\A(\s|//.*\n|/\*(?s:.*?)\*/)*package\s+[a-zA-Z_]\w*\s*$`)},
	{"go", lazyregexp.New(`(?m)^func\s+(\([^)\n]*\)\s*)?\w+(\[[^\]\n]*\])?\([^\n]*\{\s*$`)},
	{
		"rust",
		lazyregexp.New(`(?m)^\s*(pub(\([^)]*\))?\s+)?(fn\s+\w+.*\{|impl(<[^>]*>)?\s+\w+|use\s+(std|crate|super)::|#\[derive\()`),
	},
	{"c", lazyregexp.New(`(?m)^\s*#\s*include\s*[<"][\w./]+\.h[>"]`)},
	{"cpp", lazyregexp.New(`(?m)^\s*(#\s*include\s*<\w+>|using\s+namespace\s+\w+\s*;)`)},
	{
		"java",
		lazyregexp.New(`(?m)^\s*(import\s+(static\s+)?[a-z]\w*(\.\w+)+(\.\*)?;|public\s+(final\s+|abstract\s+)?(class|interface|record|enum)\s+\w+)`),
	},
	{
		"python",
		lazyregexp.New(`(?m)^\s*((async\s+)?def\s+\w+\(.*\)(\s*->.*)?:|class\s+\w+(\(.*\))?:|from\s+[\w.]+\s+import\s|if\s+__name__\s*==|elif\s.*:\s*$)`),
	},
	{"csharp", lazyregexp.New(`(?m)^\s*(using\s+System(\.\w+)*;|namespace\s+[A-Z]\w*(\.\w+)*\s*[;{]?\s*$)`)},
	{
		"kotlin",
		lazyregexp.New(`(?m)^\s*((private|public|internal|override|suspend|inline)\s+)*fun\s+(<[^>]*>\s*)?[\w.]+\(.*(\{|=)`),
	},
	{"elixir", lazyregexp.New(`(?m)^\s*defmodule\s+[A-Z][\w.]*\s+do\b`)},
	{
		"ruby",
		lazyregexp.New(`(?m)^\s*(def\s+[\w.]+[?!=]?(\(.*\))?\s*$|class\s+[A-Z]\w*(\s*<\s*[A-Z][\w:]*)?\s*$|module\s+[A-Z]\w*\s*$|require(_relative)?\s+['"])`),
	},
	{"lua", lazyregexp.New(`(?m)^\s*(local\s+(function\s+)?\w+|function\s+[\w.:]+\(.*\)\s*$)`)},
	{"dockerfile", lazyregexp.New(`(?m)\A(\s*#.*\n|\s*\n|ARG\s.*\n)*FROM\s+\S+`)},
	{
		"hcl",
		lazyregexp.New(`(?m)^\s*(resource|data|provider|variable|module|output|terraform|locals)(\s+"[^"]*")*\s*\{`),
	},
	{
		"sql",
		lazyregexp.New(`(?i)\A(\s|--.*\n)*(select\s.+\sfrom\s|select\s+[\d'*]|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|create\s+(or\s+replace\s+)?(table|view|index|function|unique|schema|database)\s|alter\s+table\s|with\s+\w+\s+as\s*\()`),
	},
	{
		"tsx",
		lazyregexp.New(`(?s)(\binterface\s+\w+|\btype\s+\w+\s*=|:\s*(string|number|boolean|void|React\.\w+)\b).*(return\s*\(?\s*<|=>\s*\(?\s*<)[A-Za-z>]`),
	},
	{
		"typescript",
		lazyregexp.New(`(?m)(^\s*(export\s+)?(declare\s+)?(interface\s+\w+|type\s+\w+(<[^>]*>)?\s*=|enum\s+\w+\s*\{|namespace\s+\w+)|^\s*import\s+type\s|[\w)\]?]\s*:\s*(string|number|boolean|void|unknown|any|never|Promise<)\b|\bas\s+(const|string|number|any)\b)`),
	},
	{"jsx", lazyregexp.New(`(return\s*\(?\s*|=>\s*\(?\s*)<[A-Za-z>]`)},
	{
		"javascript",
		lazyregexp.New(`(?m)(^\s*(const|let|var)\s+[\w{\[$].*=|^\s*(export\s+)?(default\s+)?(async\s+)?function\b.*\(|=>\s*[{(\w]|^\s*import\s.*\sfrom\s+['"]|\brequire\(['"]|\bconsole\.log\(|^\s*export\s+(default|const|class)\b)`),
	},
	{
		"css",
		lazyregexp.New(`(?m)(^\s*[.#]?[\w-]+([\s>+~,:.#\[\]="\w-]*)\{\s*(\n\s*)?[\w-]+\s*:\s*[^;{}]+;|^\s*@(media|import|keyframes|font-face)\b)`),
	},
	{"toml", lazyregexp.New(`(?m)^\s*\[{1,2}[\w."-]+\]{1,2}\s*$(?s:.*)^\s*[\w."-]+\s*=`)},
	{"markdown", lazyregexp.New("(?m)\\A\\s*#{1,6} \\S|^```")},
	{
		"shell",
		lazyregexp.New(`(?m)^\s*(if \[\[? .*\]\]?\s*;\s*then|for \w+ in .*;\s*do|(sudo|apt-get|curl|echo|export|cd|mkdir|git|npm|docker) \S|set -[euxo]+|\w+=\$\()`),
	},
	{"yaml", lazyregexp.New(`(?m)\A(---\s*\n|(\s*#.*\n)*[\w"./-]+:(\s*\n(\s+|- )\S|\s+\S)|- \S)`)},
	{"toml", lazyregexp.New(`(?m)\A(\s*#.*\n|\s*\n)*[\w.-]+\s*=\s*(["'\[{\d]|true|false)`)},
}

// Detect guesses the language of code by constructs that only that language has.
func Detect(code string) string {
	trimmed := strings.TrimSpace(strings.TrimPrefix(code, "\uFEFF"))
	if trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && jsontext.Value(trimmed).IsValid() {
		return "json"
	}
	const head = 32 << 10 // enough of the code to recognise its language
	sample := trimmed[:min(len(trimmed), head)] + "\n"
	for _, candidate := range patterns {
		if candidate.pattern.MatchString(sample) {
			return candidate.language
		}
	}
	return Unknown
}
