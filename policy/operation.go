package policy

import (
	"net/url"
	"strings"
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
	wrapper bool   // it only runs another command, which is checked instead
	tainted bool   // the name may refer to another program
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
	return strings.ReplaceAll(text, unknown, "…")
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

// unnamedPlace returns the place that a file tool uses when its call has no path:
// the workspace for reading tools, an unknown place for others.
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
		w.add(operation{words: []string{}}) // an empty script, or only assignments
	}
	if len(w.operations) == 0 {
		w.refuse("The command is not told")
	}
	for i := range w.operations { // in a loop, a later command may have run before an earlier one
		w.operations[i].tainted = w.operations[i].tainted || w.tainted
	}
	return w.operations
}
