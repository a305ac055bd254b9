package policy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// place is the target of a path in two readings: as written, and after following
// links. The zero value is a place that is not known before the call runs.
type place struct {
	text    string
	written spot
	real    spot

	straight bool // both readings are equal
}

// spot is one reading of a path.
type spot struct {
	abs    []string // elements below the root; nil means unknown
	rel    []string // elements below the workspace, if the spot is inside
	inside bool

	selects bool // elements may be patterns that stand for several names
}

func (p *place) known() bool  { return p.written.abs != nil && p.real.abs != nil }
func (p *place) inside() bool { return p.known() && p.written.inside && p.real.inside }

// lower returns the place with small letters: some file systems do not distinguish them.
func (p *place) lower() *place {
	out := place{text: p.text, written: p.written.lower(), straight: p.straight}
	if out.real = out.written; !p.straight {
		out.real = p.real.lower()
	}
	return &out
}

func (s *spot) lower() spot {
	if s.abs == nil {
		return spot{}
	}
	out := spot{abs: make([]string, len(s.abs)), inside: s.inside, selects: s.selects}
	for i, element := range s.abs {
		out.abs[i] = strings.ToLower(element)
	}
	out.rel = out.abs[len(out.abs)-len(s.rel):]
	return out
}

// pathResolver finds the places of one call.
type pathResolver struct {
	home  string                       // "" means unknown
	links func(string) (string, error) // os.Readlink
	dir   string                       // the workspace; "" means unknown

	secretFiles func() ([]treeFile, bool) // of the workspace

	realDir []string // the workspace after following links; set when first needed
}

// maxLinks and maxPath are the limits of the system. maxSteps limits the work for one path.
const (
	maxLinks = 40
	maxPath  = 4096
	maxSteps = 256 // path elements
)

// place resolves a path relative to a directory. An empty directory is unknown.
func (r *pathResolver) place(from, path string) place {
	p := place{text: path}
	path, ok := fileURL(path)
	if !ok {
		return p
	}
	switch {
	case path == "" || hasInvisible(path) || len(path) > maxPath || strings.Count(path, "/") > maxSteps ||
		hasUnknown(path):
		return p
	case path == "~" || strings.HasPrefix(path, "~/"):
		if r.home == "" {
			return p
		}
		path = r.home + path[1:]
	case path[0] == '~':
		return p
	case path[0] != '/':
		if from == "" {
			return p
		}
		path = from + "/" + path
	}
	real, ok := r.follow(path)
	if !ok || r.dir == "" {
		return p
	}
	if r.realDir == nil {
		if r.realDir, ok = r.follow(r.dir); !ok {
			return p
		}
	}
	p.written = newSpot(elements(filepath.Clean(path)), elements(filepath.Clean(r.dir)))
	p.real = newSpot(real, r.realDir)
	p.straight = p.written.inside == p.real.inside && slices.Equal(p.written.abs, p.real.abs) &&
		slices.Equal(p.written.rel, p.real.rel)
	return p
}

// fileURL returns the path of a URL of a file, and other texts as they are. It returns false for a URL with a host or
// with escapes, which programs read in different ways.
func fileURL(text string) (string, bool) {
	const scheme = "file:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return text, true
	}
	path := strings.TrimPrefix(text[len(scheme):], "//")
	return path, strings.HasPrefix(path, "/") && !strings.Contains(path, "%")
}

func elements(path string) []string {
	return append([]string{}, strings.FieldsFunc(path, func(r rune) bool { return r == '/' })...)
}

func newSpot(abs, dir []string) spot {
	s := spot{abs: abs}
	if len(abs) >= len(dir) && slices.Equal(abs[:len(dir)], dir) {
		s.inside, s.rel = true, abs[len(dir):]
	}
	return s
}

// follow resolves an absolute path like the system: links first, then "..".
// Elements that do not exist stay as written.
func (r *pathResolver) follow(path string) ([]string, bool) {
	left := elements(path)
	slices.Reverse(left)
	done, missing, hops := []string{}, false, 0
	for len(left) > 0 {
		next := left[len(left)-1]
		left = left[:len(left)-1]
		switch next {
		case ".":
			continue
		case "..":
			done = done[:max(0, len(done)-1)]
			continue
		}
		done = append(done, next)
		if missing {
			continue
		}
		target, err := r.links("/" + strings.Join(done, "/"))
		if err != nil {
			missing = errors.Is(err, fs.ErrNotExist) && !slices.Contains(left, "..")
			continue
		}
		if hops++; hops > maxLinks || len(left) > maxSteps {
			return nil, false
		}
		done = done[:len(done)-1]
		if filepath.IsAbs(target) {
			done = done[:0]
		}
		more := elements(target)
		slices.Reverse(more)
		left = append(left, more...)
	}
	return done, true
}

// exists reports whether there is something at an absolute path.
func (r *pathResolver) exists(path string) bool {
	_, err := r.links(path)
	return err == nil || errors.Is(err, syscall.EINVAL)
}

// isDirectory reports whether a word names an existing directory, in one of the
// directories in which the command may run.
func (w *walker) isDirectory(v word) bool {
	for _, dir := range w.below(v.text) {
		if dir != "" && w.exists(dir+"/.") {
			return true
		}
	}
	return false
}

// pathGlob matches places. See newPathGlob.
type pathGlob struct {
	elements globs
	absolute bool // it matches the path from the root
	anywhere bool // it matches inside and outside the workspace
}

// newPathGlob compiles one pattern: /… and ~/… are absolute, **/… matches anywhere,
// every other pattern is relative to the workspace.
func newPathGlob(pattern, home string) pathGlob {
	if home != "" && (pattern == "~" || strings.HasPrefix(pattern, "~/")) {
		pattern = home + pattern[1:]
	}
	return pathGlob{
		elements: newGlobs(elements(strings.TrimPrefix(pattern, "./"))),
		absolute: strings.HasPrefix(pattern, "/"),
		anywhere: strings.HasPrefix(pattern, "**/"),
	}
}

func (g *pathGlob) match(s *spot, allows bool) bool {
	path := s.abs
	if !g.absolute && !g.anywhere {
		path = s.rel
	}
	switch {
	case s.abs == nil || !g.absolute && !g.anywhere && !s.inside:
		return false
	case s.selects:
		return matchElements(g.elements, path, func(g *glob, element string) bool { return g.matchElement(element, allows) })
	}
	return matchPath(g.elements, path)
}

// pathGlobs is the list of a rule.
type pathGlobs []pathGlob

// isExact reports whether a pattern without wildcards names the place.
func (g pathGlobs) isExact(p *place) bool {
	for i := range g {
		isPlain := !g[i].anywhere
		for _, element := range g[i].elements {
			isPlain = isPlain && !element.wild
		}
		if isPlain && g[i:i+1].match(p, true) {
			return true
		}
	}
	return false
}

func (g pathGlobs) matchSpot(s *spot, allows bool) bool {
	for i := range g {
		if g[i].match(s, allows) {
			return true
		}
	}
	return false
}

// match reports whether a pattern matches. A rule that allows must match both readings of the path and all that a
// selection picks; other rules match if one reading or a part of the selection does.
func (g pathGlobs) match(p *place, allows bool) bool {
	written := g.matchSpot(&p.written, allows)
	switch {
	case p.straight:
		return written
	case allows:
		return written && g.matchSpot(&p.real, allows)
	}
	return written || g.matchSpot(&p.real, allows)
}
