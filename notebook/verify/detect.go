package verify

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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

// Unknown is Detect's result when no pattern matches.
const Unknown = "unknown"

// patterns are tried in order; the first match decides.
var patterns = []struct {
	language string
	pattern  *regexp.Regexp
}{
	{"python", regexp.MustCompile(`\A#!.*\bpython`)},
	{"javascript", regexp.MustCompile(`\A#!.*\b(node|deno|bun)\b`)},
	{"shell", regexp.MustCompile(`\A#!.*\b(bash|ksh)\b`)},
	{"sh", regexp.MustCompile(`\A#!.*\b(sh|dash|ash)\b`)},
	{"ruby", regexp.MustCompile(`\A#!.*\bruby`)},
	{"php", regexp.MustCompile(`\A(#!.*\bphp.*\n)?\s*<\?php\b`)},
	{"xml", regexp.MustCompile(`\A\s*(<\?xml\b|<svg[\s>])`)},
	{"html", regexp.MustCompile(`(?i)\A\s*(<!doctype html|<html[\s>])`)},
	{"protobuf", regexp.MustCompile(`(?m)^\s*(syntax|edition)\s*=\s*"(proto[23]|20\d\d)"\s*;`)},
	{"go", regexp.MustCompile(`(?m)\A(\s|//.*\n|/\*(?s:.*?)\*/)*package\s+[a-zA-Z_]\w*\s*$`)},
	{"go", regexp.MustCompile(`(?m)^func\s+(\([^)\n]*\)\s*)?\w+(\[[^\]\n]*\])?\([^\n]*\{\s*$`)},
	{
		"rust",
		regexp.MustCompile(`(?m)^\s*(pub(\([^)]*\))?\s+)?(fn\s+\w+.*\{|impl(<[^>]*>)?\s+\w+|use\s+(std|crate|super)::|#\[derive\()`),
	},
	{"c", regexp.MustCompile(`(?m)^\s*#\s*include\s*[<"][\w./]+\.h[>"]`)},
	{"cpp", regexp.MustCompile(`(?m)^\s*(#\s*include\s*<\w+>|using\s+namespace\s+\w+\s*;)`)},
	{
		"java",
		regexp.MustCompile(`(?m)^\s*(import\s+(static\s+)?[a-z]\w*(\.\w+)+(\.\*)?;|public\s+(final\s+|abstract\s+)?(class|interface|record|enum)\s+\w+)`),
	},
	{
		"python",
		regexp.MustCompile(`(?m)^\s*((async\s+)?def\s+\w+\(.*\)(\s*->.*)?:|class\s+\w+(\(.*\))?:|from\s+[\w.]+\s+import\s|if\s+__name__\s*==|elif\s.*:\s*$)`),
	},
	{"csharp", regexp.MustCompile(`(?m)^\s*(using\s+System(\.\w+)*;|namespace\s+[A-Z]\w*(\.\w+)*\s*[;{]?\s*$)`)},
	{
		"kotlin",
		regexp.MustCompile(`(?m)^\s*((private|public|internal|override|suspend|inline)\s+)*fun\s+(<[^>]*>\s*)?[\w.]+\(.*(\{|=)`),
	},
	{"elixir", regexp.MustCompile(`(?m)^\s*defmodule\s+[A-Z][\w.]*\s+do\b`)},
	{
		"ruby",
		regexp.MustCompile(`(?m)^\s*(def\s+[\w.]+[?!=]?(\(.*\))?\s*$|class\s+[A-Z]\w*(\s*<\s*[A-Z][\w:]*)?\s*$|module\s+[A-Z]\w*\s*$|require(_relative)?\s+['"])`),
	},
	{"lua", regexp.MustCompile(`(?m)^\s*(local\s+(function\s+)?\w+|function\s+[\w.:]+\(.*\)\s*$)`)},
	{"dockerfile", regexp.MustCompile(`(?m)\A(\s*#.*\n|\s*\n|ARG\s.*\n)*FROM\s+\S+`)},
	{
		"hcl",
		regexp.MustCompile(`(?m)^\s*(resource|data|provider|variable|module|output|terraform|locals)(\s+"[^"]*")*\s*\{`),
	},
	{
		"sql",
		regexp.MustCompile(`(?i)\A(\s|--.*\n)*(select\s.+\sfrom\s|select\s+[\d'*]|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|create\s+(or\s+replace\s+)?(table|view|index|function|unique|schema|database)\s|alter\s+table\s|with\s+\w+\s+as\s*\()`),
	},
	{
		"tsx",
		regexp.MustCompile(`(?s)(\binterface\s+\w+|\btype\s+\w+\s*=|:\s*(string|number|boolean|void|React\.\w+)\b).*(return\s*\(?\s*<|=>\s*\(?\s*<)[A-Za-z>]`),
	},
	{
		"typescript",
		regexp.MustCompile(`(?m)(^\s*(export\s+)?(declare\s+)?(interface\s+\w+|type\s+\w+(<[^>]*>)?\s*=|enum\s+\w+\s*\{|namespace\s+\w+)|^\s*import\s+type\s|[\w)\]?]\s*:\s*(string|number|boolean|void|unknown|any|never|Promise<)\b|\bas\s+(const|string|number|any)\b)`),
	},
	{"jsx", regexp.MustCompile(`(return\s*\(?\s*|=>\s*\(?\s*)<[A-Za-z>]`)},
	{
		"javascript",
		regexp.MustCompile(`(?m)(^\s*(const|let|var)\s+[\w{\[$].*=|^\s*(export\s+)?(default\s+)?(async\s+)?function\b.*\(|=>\s*[{(\w]|^\s*import\s.*\sfrom\s+['"]|\brequire\(['"]|\bconsole\.log\(|^\s*export\s+(default|const|class)\b)`),
	},
	{
		"css",
		regexp.MustCompile(`(?m)(^\s*[.#]?[\w-]+([\s>+~,:.#\[\]="\w-]*)\{\s*(\n\s*)?[\w-]+\s*:\s*[^;{}]+;|^\s*@(media|import|keyframes|font-face)\b)`),
	},
	{"toml", regexp.MustCompile(`(?m)^\s*\[{1,2}[\w."-]+\]{1,2}\s*$(?s:.*)^\s*[\w."-]+\s*=`)},
	{"markdown", regexp.MustCompile("(?m)\\A\\s*#{1,6} \\S|^```")},
	{
		"shell",
		regexp.MustCompile(`(?m)^\s*(if \[\[? .*\]\]?\s*;\s*then|for \w+ in .*;\s*do|(sudo|apt-get|curl|echo|export|cd|mkdir|git|npm|docker) \S|set -[euxo]+|\w+=\$\()`),
	},
	{"yaml", regexp.MustCompile(`(?m)\A(---\s*\n|(\s*#.*\n)*[\w"./-]+:(\s*\n(\s+|- )\S|\s+\S)|- \S)`)},
	{"toml", regexp.MustCompile(`(?m)\A(\s*#.*\n|\s*\n)*[\w.-]+\s*=\s*(["'\[{\d]|true|false)`)},
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
