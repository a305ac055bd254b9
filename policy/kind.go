package policy

import (
	"path"
	"strings"

	"bellhop/internal/lazyregexp"
)

// kind is what programs.yaml says about a word of a command, such as "read". The kind's
// function adds the files and addresses that the word names to the reading. It returns
// why the word is not understood, or "".
type kind string

var kinds = map[kind]func(r *reading, v word) string{
	"text":     func(*reading, word) string { return "" }, // has no effect beyond the output
	"number":   matching(`^[+-]?[0-9][0-9.,:]*[a-zA-Z%]{0,2}$`, "is no number"),
	"read":     func(r *reading, v word) string { return r.use(FileRead, v) },
	"write":    func(r *reading, v word) string { return r.use(FileWrite, v) },
	"select":   func(r *reading, v word) string { return r.selects(v) },
	"delete":   func(r *reading, v word) string { return r.use(FileDelete, v) },
	"target":   copyTarget,
	"dir":      func(*reading, word) string { return "" }, // the walker changes its directory
	"archive":  archive,
	"revision": revision,
	"package":  goPackage,
	"remote":   gitRemote,
	"url":      webAddress,
	"data":     func(r *reading, v word) string { return curlData(r, v, "@") },
	"form":     func(r *reading, v word) string { return curlData(r, v, "@<") },
	"format":   without("starts a program", "%G"),                 // %G? of git checks signatures with another program
	"printed":  without("is evaluated by some shells", "$(", "`"), // printf %d 'a[$(…)]' runs the command in a subscript
	"jq":       jqFilter,
	"awk":      matching(`^(?:/[^/\\]*/ *|NR *[<>=!]=? *[0-9]+ *)?(?:\{ *print(?: *(?:\$(?:[0-9]+|NF)|"[^"\\]*")[ ,]*)* *;? *\})?$`, inArgument),
	"sed":      sedScript,
	"find":     findPath,
	"variable": without("sets a variable", "="),
	"mode": matching(`^(?:0?[0-7][0-7][0145]|(?:[ugo]*[-=+][rX]+|[ug]*[-=+][rwxX]+|[+-][rxX]+|a[+-][rxX]+))$`,
		"gives rights to everyone"),
	"date":    matching(`^\+`, "sets the clock"),
	"setting": matching(`^(?:errexit|nounset|pipefail|xtrace|noglob|verbose)$`, "changes the shell"),
	"unset":   matching(`^\+[euxfv]+$`, "changes the shell"),
}

func jqFilter(r *reading, v word) string {
	if strings.Contains(strings.ToLower(v.text), "env") {
		r.use(FileRead, word{text: allVariables})
	}
	return without("reads more than its input", "env", "$ENV", "import", "include", "input")(r, v)
}

const inArgument = "is a program in an argument"

func (k kind) exists() bool { return kinds[k] != nil }

// isPath reports whether words of the kind become operations of their own.
func (k kind) isPath() bool {
	switch k {
	case "read", "select", "write", "delete", "target", "archive", "revision", "package", "find":
		return true
	}
	return false
}

// matching accepts words that are known and match a pattern.
func matching(pattern, otherwise string) func(*reading, word) string {
	form := lazyregexp.New(pattern)
	return func(_ *reading, v word) string {
		return when(v.unknown() || v.glob || !form.MatchString(v.text), otherwise)
	}
}

// without accepts words that are known and contain none of the texts.
func without(otherwise string, texts ...string) func(*reading, word) string {
	return func(_ *reading, v word) string {
		for _, text := range texts {
			if strings.Contains(v.text, text) {
				return otherwise
			}
		}
		return when(v.unknown(), "is not known beforehand")
	}
}

// copyTarget is the last operand of cp and mv. If it is a directory, each operand before it
// becomes a file of the same name in it. These files are checked one by one, because a link
// that exists under such a name would lead the write elsewhere.
func copyTarget(r *reading, v word) string {
	sources := r.operands[:max(0, len(r.operands)-1)]
	if !r.walker.isDirectory(v) {
		return r.use(FileWrite, v)
	}
	for _, s := range sources {
		into := word{text: strings.TrimRight(v.text, "/") + "/" + path.Base(s.text)}
		if s.glob || s.unknown() || path.Base(s.text) == ".." {
			into.text = unknown
		}
		r.use(FileWrite, into)
	}
	return ""
}

// archive is a file that tar reads; "host:file" starts a program to reach the host.
func archive(r *reading, v word) string {
	if strings.Contains(v.text, ":") {
		return "is on another host"
	}
	return r.use(FileRead, v)
}

// revision is a revision of git or a path. A revision is checked like a file of that name
// in the workspace, and so is the path after "HEAD:", which may name a secret. git reads patterns in paths by itself.
func revision(r *reading, v word) string {
	if _, file, ok := strings.Cut(v.text, ":"); ok && file != "" {
		r.use(FileRead, word{text: file, glob: v.glob})
	}
	if !v.glob && hasWildcard(v.text) {
		r.selects(v)
	}
	return r.use(FileRead, v)
}

var importPath = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.~/-]*$`)

func goPackage(r *reading, v word) string {
	if strings.HasPrefix(v.text, ".") || strings.HasPrefix(v.text, "/") || strings.HasSuffix(v.text, ".go") {
		return r.use(FileRead, v)
	}
	return when(!importPath.MatchString(v.text), "is no package of the workspace")
}

// findPath is a directory to search, or an operator between the tests of find.
func findPath(r *reading, v word) string {
	switch v.text {
	case "(", ")", "!", ",":
		return ""
	}
	return r.use(FileRead, v)
}

var (
	remoteName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	remoteSSH  = lazyregexp.New(`^(?:[A-Za-z0-9_.-]+@)?([A-Za-z0-9_][A-Za-z0-9_.-]*):[^:]`)
	remoteURL  = lazyregexp.New(`^(?:https?|git|ssh)://(?:[A-Za-z0-9_.:-]+@)?[A-Za-z0-9][^\s{}\[\]\\@]*$`)
)

// gitRemote is the name or address of another repository.
func gitRemote(r *reading, v word) string {
	switch {
	case v.unknown():
		return "is not known beforehand"
	case remoteURL.MatchString(v.text):
		r.addresses = append(r.addresses, v.text)
	case strings.Contains(v.text, "::") || strings.Contains(v.text, "://"):
		return "may start a program"
	case remoteSSH.MatchString(v.text):
		r.addresses = append(r.addresses, remoteSSH.FindStringSubmatch(v.text)[1])
	case !remoteName.MatchString(v.text):
		return r.use(FileRead, v)
	}
	return ""
}

var (
	webURL  = lazyregexp.New(`^(?i:https?)://[^\s{}\[\]\\]+$`)
	webHost = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?(?:/[^\s{}\[\]\\]*)?$`)
)

func webAddress(r *reading, v word) string {
	if !v.unknown() && !webURL.MatchString(v.text) && !webHost.MatchString(v.text) {
		return "is no address of the web"
	}
	r.addresses = append(r.addresses, v.text)
	return ""
}

// curlData is text, or text with the name of a file after one of the signs.
func curlData(r *reading, v word, signs string) string {
	if at := strings.IndexAny(v.text, signs); at >= 0 {
		return r.use(FileRead, word{text: v.text[at+1:], glob: v.glob})
	}
	return ""
}

// sedCommand is one command of sed that only prints, deletes or substitutes: without
// the flags and commands that write files or start programs.
var sedCommand = lazyregexp.New(`^(?:(?:[0-9]+|\$|/[^/\\\n]+/)(?:,(?:\+?[0-9]+|\$|/[^/\\\n]+/))? *!? *)?` +
	`(?:[pdq=]|s(?:/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/|\|(?:[^|\\\n]|\\[^\n])*\|(?:[^|\\\n]|\\[^\n])*\||` +
	`#(?:[^#\\\n]|\\[^\n])*#(?:[^#\\\n]|\\[^\n])*#|,(?:[^,\\\n]|\\[^\n])*,(?:[^,\\\n]|\\[^\n])*,)[gpiI0-9]*)$`)

func sedScript(_ *reading, v word) string {
	if v.unknown() {
		return inArgument
	}
	if sedCommand.MatchString(v.text) {
		return ""
	}
	for part := range strings.SplitSeq(v.text, ";") {
		if !sedCommand.MatchString(strings.TrimSpace(part)) {
			return inArgument
		}
	}
	return ""
}
