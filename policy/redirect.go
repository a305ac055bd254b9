package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"bellhop/internal/lazyregexp"
)

// redirect adds the operations of a redirection and returns the command's new
// input.
func (w *walker) redirect(r *syntax.Redirect, in stdin) stdin {
	if r.Word != nil {
		w.inner(r.Word)
	}
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		w.doubt(r.N.Value+">", setsNames)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			w.inner(r.Hdoc)
		}
		in.script, in.isKnown = w.document(r.Hdoc)
		if quoted(r.Word) {
			in.script, in.isKnown = raw(r.Hdoc), true
		}
		in.piped = true
		return in
	case syntax.WordHdoc:
		in.piped = true
		in.script, in.isKnown = w.fixed(r.Word)
		return in
	}
	target := w.word(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		w.addFile(FileRead, target)
		return stdin{file: true, piped: isPseudoDevice(target.text) || strings.HasPrefix(target.text, unknown)}
	case syntax.DplIn, syntax.DplOut:
		if target.text == "-" || strings.Trim(target.text, "0123456789-") == "" && target.text != "" {
			return in
		}
		w.addOutput(target)
	case syntax.RdrInOut:
		w.addFile(FileRead, target)
		w.addOutput(target)
	default:
		w.addOutput(target)
	}
	return in
}

// addOutput adds the writing of a file by a redirection. A file outside the workspace is a
// doubt.
func (w *walker) addOutput(target word) {
	from := len(w.operations)
	if strings.HasPrefix(target.text, "!") { // zsh reads ">! file" as a redirection to the file
		w.doubt(">"+target.text, otherShells)
	}
	w.addFile(FileWrite, target)
	for i := from; i < len(w.operations); i++ {
		if op := &w.operations[i]; op.place != nil && !op.place.inside() {
			op.doubt = outOfTree
		}
	}
}

// quoted reports whether the end word of a here-document is quoted. Its body is
// then not expanded.
func quoted(end *syntax.Word) bool {
	return end != nil && (len(end.Parts) != 1 || end.Lit() == "" || strings.Contains(end.Lit(), `\`))
}

func raw(body *syntax.Word) string {
	if body == nil {
		return ""
	}
	return clean(body.Lit())
}

// isPseudoDevice reports whether a path is a device that stores nothing.
func isPseudoDevice(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr",
		"/dev/tty", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full":
		return true
	}
	number, ok := strings.CutPrefix(path, "/dev/fd/")
	return ok && strings.Trim(number, "0123456789") == ""
}

var (
	netDevice   = lazyregexp.New(`^/dev/(?:tcp|udp)/([^/]+)/`)
	blockDevice = lazyregexp.New(`^/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|md|dm-|loop|ram|mem|kmem|port|zram)`)
)

// addFile adds the use of a file by a tool such as FileRead, in each directory in which the
// command may run.
func (w *walker) addFile(tool string, target word) {
	if isPseudoDevice(target.text) {
		return
	}
	if m := netDevice.FindStringSubmatch(target.text); m != nil {
		w.add(address(NetConnect, m[1]))
		return
	}
	text := target.text
	for _, dir := range w.dirs {
		p := place{text: text} // the files of a pattern are not known
		if !target.glob {
			p = w.place(dir, text)
		}
		op := operation{tool: tool, place: &p}
		if tool != FileRead && blockDevice.MatchString(text) {
			op.danger = "Writes to a device and destroys the data on it"
		}
		w.add(op)
		if strings.HasPrefix(text, "/") || target.glob {
			return
		}
	}
}

// addSelection adds the reading of the files that a program picks by a pattern.
func (w *walker) addSelection(pattern string) {
	for _, dir := range w.dirs {
		for _, p := range w.selections(dir, pattern) {
			w.add(operation{tool: FileRead, place: &p})
		}
	}
}

// below resolves a path against each of the current directories.
func (w *walker) below(path string) []string {
	if path == "" || hasUnknown(path) || strings.HasPrefix(path, "~") && w.home == "" {
		return []string{""}
	}
	if strings.HasPrefix(path, "/") {
		return []string{path}
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		return []string{w.home + rest}
	}
	out := make([]string, 0, len(w.dirs))
	for _, dir := range w.dirs {
		if dir != "" {
			dir += "/" + path
		}
		out = append(out, dir)
	}
	return out
}
