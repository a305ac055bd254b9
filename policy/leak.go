package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"bellhop/internal/lazyregexp"
)

const (
	sendsSecrets = "Reads what may be secret and reaches the network in one call"

	// allVariables is a file: printing the variables of a program is like reading it.
	allVariables = "/proc/self/environ"
)

// markLeaks makes the connections of a call destructive if the call also reads secrets. The connection may send them.
func (e *Engine) markLeaks(paths *pathResolver, in *input, operations []operation) {
	hasAddress := len(in.urls()) > 0
	if !slices.ContainsFunc(operations, func(op operation) bool { return op.connects(hasAddress) }) {
		return
	}
	if slices.ContainsFunc(operations, func(op operation) bool { return e.readsSecret(&op) }) ||
		slices.ContainsFunc(operations, func(op operation) bool { return paths.mayReadSecret(&op) }) {
		markConnections(operations, hasAddress)
	}
}

// mayReadSecret reports whether an operation reads files whose names are not known, and the workspace has a secret among
// those that it may read.
func (r *pathResolver) mayReadSecret(op *operation) bool {
	if op.tool != FileRead || op.place == nil || op.place.known() || op.cause == nil || op.says != "" ||
		slices.Contains(onlyNames, path.Base(op.cause.words[0])) {
		return false
	}
	files, ok := r.secretFiles()
	pattern := path.Base(op.place.text)
	return !ok || slices.ContainsFunc(files, func(f treeFile) bool {
		name := f.path[len(f.path)-1]
		return hasUnknown(op.place.text) || (name[0] != '.' || pattern[0] == '.') && picks(pattern, name)
	})
}

// connects reports whether an operation reaches the network. A tool that is not known does if its call has an address.
func (op *operation) connects(hasAddress bool) bool {
	return strings.HasPrefix(op.tool, "net:") || isUnknownTool(op.tool) && hasAddress
}

// markConnections makes connections destructive.
func markConnections(operations []operation, hasAddress bool) {
	for i := range operations {
		if op := &operations[i]; op.danger == "" && op.connects(hasAddress) {
			op.danger = sendsSecrets
		}
	}
}

// secretVariable is a name of a variable whose value may be secret.
var secretVariable = lazyregexp.New(
	`(?i)(?:token|secret|passw(?:or)?d|passphrase|credentials?|api_?key|access_?key|private_?key|bearer)$` +
		`|_(?:key|pass|pat|auth|cookie)$`)

// isSecretVariable reports whether an expansion may contain a secret. Its length, and a text in its place, do not.
func isSecretVariable(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Length || p.Exp != nil && (p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull) {
		return false
	}
	return secretVariable.MatchString(p.Param.Value)
}

// readsSecret reports whether an operation reads a file that the built-in rules call secret, or gives it another name.
// The file counts also if only the end of its path is known.
func (e *Engine) readsSecret(op *operation) bool {
	renames := op.tool == FileWrite && op.cause != nil && op.cause.reading != nil && op.cause.reading.program.moves
	if op.place == nil || op.tool != FileRead && !renames && !isUnknownTool(op.tool) && !strings.HasPrefix(op.tool, "net:") {
		return false
	}
	if op.place.known() {
		isExample := op.place.straight && slices.Contains(examples, path.Base(op.place.text))
		return !isExample && e.secrets.match(op.place, false)
	}
	text := spot{abs: elements(op.place.text), selects: true}
	return e.secrets.matchSpot(&text, false)
}

// examples are files that look like secrets and are made to be shared.
var examples = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"}

// printsEnvironment reports whether a program that runs other commands, or prints variables, prints all of them.
func printsEnvironment(name string, args []word) bool {
	switch name {
	case "env":
		return !slices.ContainsFunc(args, func(a word) bool { return a.text[:min(1, len(a.text))] != "-" && !strings.Contains(a.text, "=") })
	case "printenv", "compgen":
		return true
	}
	return false
}
