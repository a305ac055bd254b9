package policy

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// unknown stands in texts for each part whose value is not known before the call
// runs. In patterns only * matches it.
const unknown = "\x00"

// operation is one effect of a call: a simple command, the use of a file, or a
// connection.
type operation struct {
	tool  string
	place *place   // for file tools
	words []string // for a simple command
	host  string   // for network tools
	url   string

	bit     uint32 // the bit of a common tool
	danger  string // why it is destructive; "" if it is not
	doubt   string // why it is not understood; "" if every word is
	says    string // what the call does, if its words do not say it
	runs    string // what other programs do with the file once they are started; "" if nothing is known
	tainted bool   // the name may refer to another program
	isMain  bool   // it is what the call's own tool does, not what follows from it

	cause   *invocation // the command itself, or the one that uses the file or address
	ordinal int         // of the command in its script; files of no command have 0
	moves   bool        // it changes names or links of files
	moved   bool        // its place may also be another one, that is not known
}

func (op *operation) subject() string {
	switch {
	case op.words != nil:
		return show(strings.Join(op.words, " "))
	case op.place != nil:
		return show(op.place.text)
	default:
		return show(op.url)
	}
}

// show shortens a text for users and replaces unknown parts by "…".
func show(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return visible(text)
}

// address returns the operation of connecting to a URL, or to a host with or
// without a port.
func address(tool, raw string) operation {
	op := operation{tool: tool, url: raw, host: unknown}
	if hasUnknown(raw) {
		return op
	}
	text := raw
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		op.host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	}
	return op
}

// operations lists the effects of a call, at least one.
func (e *Engine) operations(c *Call, in *input) []operation {
	tool := e.CommonTool(c.Agent, c.Tool)
	if tool == ShellRead && in.hasCommand() {
		tool = ShellRun
	}
	paths := &pathResolver{home: e.home, links: e.links, dir: c.Dir}
	paths.secretFiles = sync.OnceValues(func() ([]treeFile, bool) { return e.secretFiles(c) })
	var out []operation
	switch tool {
	case ShellRun:
		out = e.shell(paths, in)
	case NetFetch, NetConnect:
		if in.hasCommand() {
			out = e.shell(paths, in)
		}
		for _, path := range in.paths(false) { // a file to send
			p := paths.place(paths.dir, path)
			out = append(out, operation{tool: FileRead, place: &p})
		}
		for _, u := range in.urls() {
			out = append(out, address(tool, u))
		}
		if len(in.urls()) == 0 {
			out = append(out, address(tool, unknown))
		}
	default:
		out = e.files(paths, c, tool, in)
		if in.hasCommand() && !strings.HasPrefix(tool, hostToolPrefix) && !slices.Contains(namesOfCommands, c.Tool) {
			out = append(out, e.shell(paths, in)...)
			if !strings.HasPrefix(tool, "file:") {
				out = append(out, operation{tool: tool, url: c.Tool})
			}
		}
	}
	out = append(out, e.hidden(paths, tool, in)...)
	if len(out) == 0 {
		out = append(out, operation{tool: tool, url: c.Tool})
	}
	e.markLeaks(paths, in, out)
	danger := hostDanger(tool, in)
	for i := range out {
		op := &out[i]
		op.bit, op.isMain = commonBit(op.tool), op.tool == tool
		op.danger = cmp.Or(op.danger, danger)
		if op.place != nil && (op.tool == FileWrite || op.tool == FileDelete) {
			lower := op.place.lower()
			op.doubt = cmp.Or(op.doubt, effectOn(e.trusted, op.place, lower))
			if op.tool == FileWrite {
				op.runs = effectOn(e.run, op.place, lower)
			}
		}
	}
	return out
}

// namesOfCommands are the tools whose "command" is the name of a text that the agent reads.
var namesOfCommands = []string{"Skill", "skill", "SlashCommand"}

// hidden lists the commands and addresses in members of a call whose meaning is not known.
func (e *Engine) hidden(paths *pathResolver, tool string, in *input) []operation {
	var texts []string
	switch family, _, _ := strings.Cut(tool, ":"); {
	case tool == ShellRead:
		texts = in.unknownTexts(wordMembers, commandMembers, outputMembers)
	case family == "net":
		texts = in.unknownTexts(wordMembers, commandMembers, urlMembers, requestMembers)
	case family == "file":
		texts = in.unknownTexts(wordMembers, commandMembers, pathMembers, patchMembers, searchMembers, selectMembers,
			textMembers, folderMembers)
	}
	var out []operation
	for _, text := range texts {
		if found := urlForm.FindAllString(text, 64); len(found) > 0 {
			for _, one := range found {
				out = append(out, address(NetFetch, one))
			}
		} else if looksLikeCommand(text) {
			w := &walker{pathResolver: paths, grammars: &e.grammars, dirs: []string{paths.dir}}
			w.script(text)
			out = append(out, w.done()...)
		}
	}
	return out
}

// files lists the files of a call that is not a shell tool's.
func (e *Engine) files(paths *pathResolver, c *Call, tool string, in *input) []operation {
	isFile := strings.HasPrefix(tool, "file:")
	var out []operation
	add := func(p place) { out = append(out, operation{tool: tool, place: &p}) }
	named := in.paths(isFile)
	for _, path := range named {
		if tool == FileRead && strings.ContainsAny(path, "*?") {
			for _, p := range paths.selections(paths.dir, path) {
				add(p)
			}
		}
		add(paths.place(paths.dir, path))
	}
	switch {
	case !isFile:
		return out
	case len(named) > 0:
	case tool == FileRead && in.isSearch():
		add(paths.place(paths.dir, "."))
	default:
		add(place{text: unknown})
	}
	if tool != FileRead {
		return out
	}
	if t, ok := in.treeRead(c.Tool); ok {
		var roots []place
		for i := range out {
			roots = append(roots, *out[i].place)
		}
		out = append(out, paths.treeOperations(t, roots)...)
	}
	for _, pattern := range in.selections(c.Tool) {
		for _, from := range append(paths.folders(named), paths.dir) {
			for _, p := range paths.selections(from, pattern) {
				add(p)
			}
		}
	}
	return out
}

// shell lists the operations of a shell tool's call.
func (e *Engine) shell(paths *pathResolver, in *input) []operation {
	w := &walker{pathResolver: paths, grammars: &e.grammars, dirs: []string{paths.dir}}
	if folder := in.folder(); folder != "" {
		w.dirs = w.below(folder)
	}
	if name := in.unknownMember(); name != "" {
		w.doubt(name, unsafeCall+name)
	}
	scripts, words := in.commands()
	for _, s := range scripts {
		w.script(s)
	}
	for _, list := range words {
		if script, ok := wrappedScript(literalWords(list)); ok {
			w.script(script)
		} else {
			w.simple(literalWords(list), stdin{})
		}
	}
	if len(w.operations) == 0 && len(scripts)+len(words) > 0 {
		w.add(operation{words: []string{}}) // an empty script
	}
	if len(w.operations) == 0 {
		w.refuse("The call names no command")
	}
	return w.done()
}

// done returns the operations, after the last part of the script has been read.
func (w *walker) done() []operation {
	for i := range w.operations { // in a loop, a later command may have run before an earlier one
		w.operations[i].tainted = w.operations[i].tainted || w.tainted
	}
	w.markMoved()
	if w.usesSecret {
		markConnections(w.operations, false)
	}
	return w.operations
}

// markMoved marks places if another command of the script may change where their paths
// lead: "mv a b" may put a link into b.
func (w *walker) markMoved() {
	for i := range w.operations {
		if !w.operations[i].moves {
			continue
		}
		for k := range w.operations {
			if op := &w.operations[k]; op.place != nil && op.ordinal != w.operations[i].ordinal {
				op.moved = true
			}
		}
	}
}
