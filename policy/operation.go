package policy

import (
	"net/url"
	"strings"
)

// unknown stands in texts for each part that is not known before the call runs.
// In patterns only * matches it.
const unknown = "\x00"

// operation is one thing that a call does: run a simple command, use a file,
// reach an address.
type operation struct {
	tool  string
	place *place   // of file tools
	words []string // of a simple command
	host  string   // of network tools
	url   string

	bit     uint32 // of a common tool
	danger  string // why it is destructive; "" = it is not
	wrapper bool   // a command that only runs another one, which is judged instead
	tainted bool   // the name may stand for another program
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

// show shortens a text for people and replaces unknown parts by "…".
func show(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.ReplaceAll(text, unknown, "…")
}

// address is the operation of reaching an address: a URL, or a host with or without
// a port.
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

// operations lists all that a call does, at least one operation.
func (e *Engine) operations(c *Call, in *input) []operation {
	tool := e.CommonTool(c.Agent, c.Tool)
	paths := &pathResolver{home: e.home, links: e.links, dir: c.Dir}
	var out []operation
	switch tool {
	case ShellRun:
		out = e.shell(paths, in)
	case NetFetch, NetConnect:
		for _, u := range in.urls() {
			out = append(out, address(tool, u))
		}
		if len(out) == 0 {
			out = append(out, address(tool, unknown))
		}
	case NetSearch:
	default:
		for _, path := range in.paths() {
			p := paths.place(c.Dir, path)
			out = append(out, operation{tool: tool, place: &p})
		}
		if len(out) == 0 && strings.HasPrefix(tool, "file:") {
			out = append(out, operation{tool: tool, place: unnamedPlace(paths, tool)})
		}
	}
	if len(out) == 0 {
		out = append(out, operation{tool: tool, url: c.Tool})
	}
	return out
}

// unnamedPlace is the place that a file tool uses when its call names none: the
// workspace for reading tools, an unknown place for others.
func unnamedPlace(paths *pathResolver, tool string) *place {
	if tool != FileRead {
		return &place{text: unknown}
	}
	p := paths.place(paths.dir, ".")
	return &p
}

// shell lists the operations of a shell tool's call.
func (e *Engine) shell(paths *pathResolver, in *input) []operation {
	w := &walker{pathResolver: paths, grammars: &e.grammars, dirs: []string{paths.dir}}
	if folder := in.folder(); folder != "" {
		w.dirs = w.below(folder)
	}
	scripts, words := in.commands()
	for _, s := range scripts {
		w.script(s)
	}
	for _, list := range words {
		w.simple(known(list), feed{})
	}
	if len(w.operations) == 0 && len(scripts)+len(words) > 0 {
		w.add(operation{words: []string{}}) // an empty script, or assignments alone
	}
	if len(w.operations) == 0 {
		w.refuse("The command is not told")
	}
	for i := range w.operations { // in a loop, a later command may have run before an earlier one
		w.operations[i].tainted = w.operations[i].tainted || w.tainted
	}
	return w.operations
}
