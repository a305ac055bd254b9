package policy

import (
	"net/url"
	"strings"
)

// unknown stands in words for what is not known before the call runs. In
// patterns only * matches it.
const unknown = "\x00"

// deed is one thing that a call does.
type deed struct {
	tool  string
	place *place   // of file tools
	words []string // of a simple command
	host  string   // of network tools
	url   string

	bit     uint32 // of a common tool
	hazard  string // why it is destructive, "" it is not
	carrier bool   // a command that only runs another one: it needs no leave of its own
	tainted bool   // its words may mean something else than they say
}

func (d *deed) subject() string {
	switch {
	case d.words != nil:
		return show(strings.Join(d.words, " "))
	case d.place != nil:
		return show(d.place.text)
	default:
		return show(d.url)
	}
}

// show is for people: what is not known is …, and nothing is endless.
func show(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.ReplaceAll(text, unknown, "…")
}

func address(tool, raw string) deed {
	d := deed{tool: tool, url: raw, host: unknown}
	if strings.Contains(raw, unknown) {
		return d
	}
	text := raw
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		d.host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	}
	return d
}

// deeds are all that a call does; there is at least one.
func (e *Engine) deeds(c *Call, in *input) []deed {
	tool := CommonTool(c.Agent, c.Tool)
	a := &atlas{home: e.home, links: e.links, dir: c.Dir}
	var out []deed
	switch tool {
	case ShellRun:
		out = e.shell(a, in)
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
			p := a.place(c.Dir, path)
			out = append(out, deed{tool: tool, place: &p})
		}
		if len(out) == 0 && strings.HasPrefix(tool, "file:") {
			out = append(out, deed{tool: tool, place: nowhere(a, tool)})
		}
	}
	if len(out) == 0 {
		out = append(out, deed{tool: tool, url: c.Tool})
	}
	return out
}

// nowhere is the place of a file tool that names none: reading tools mean the
// workspace then, of others it is not known.
func nowhere(a *atlas, tool string) *place {
	if tool != FileRead {
		return &place{text: unknown}
	}
	p := a.place(a.dir, ".")
	return &p
}

func (e *Engine) shell(a *atlas, in *input) []deed {
	w := &walker{atlas: a, grammars: &e.grammars, dirs: []string{a.dir}}
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
	if len(w.deeds) == 0 && len(scripts)+len(words) > 0 {
		w.add(deed{words: []string{}}) // an empty script, or assignments alone
	}
	if len(w.deeds) == 0 {
		w.refuse("The command is not told")
	}
	for i := range w.deeds { // a loop may come back to what was read before
		w.deeds[i].tainted = w.deeds[i].tainted || w.tainted
	}
	return w.deeds
}
