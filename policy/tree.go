package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// treeRead says which files below a directory a program reads, or a tool of an agent.
type treeRead struct {
	hidden, ignored bool     // these too
	patterns        []string // if there are any, only files that one of them picks
}

var everything = treeRead{hidden: true, ignored: true}

// treeFile is a file of the workspace that may hold secrets.
type treeFile struct {
	path      []string // elements below the workspace
	isIgnored bool
}

// maxFound limits the files of one search that are operations of their own.
const maxFound = 100

const unlisted = "Reads files of the workspace, and which these are could not be seen"

// secretFiles lists the files of the call's workspace that may hold secrets. It returns false if they cannot be listed.
func (e *Engine) secretFiles(c *Call) ([]treeFile, bool) {
	if c.Files == nil {
		return nil, true
	}
	var out []treeFile
	top, dir, isLikely := elements(c.Dir), "", false
	err := c.Files(func(file string, isIgnored bool) {
		at := strings.LastIndexByte(file, '/') + 1
		if file[:at] != dir { // most files follow one of the same directory
			dir, isLikely = file[:at], e.hints.match(file[:at])
		}
		if !isLikely && !e.hints.match(file[at:]) {
			return
		}
		rel := elements(file)
		s := spot{abs: append(top[:len(top):len(top)], rel...), rel: rel, inside: true}
		if e.secrets.matchSpot(&s, false) && !slices.Contains(examples, path.Base(file)) {
			out = append(out, treeFile{rel, isIgnored})
		}
	})
	return out, err == nil
}

// hints sort out most paths at little cost: of one that a pattern matches, an element matches an element of the pattern.
type hints struct {
	names map[string]bool
	wild  globs
}

func newHints(patterns pathGlobs) hints {
	h := hints{names: map[string]bool{}}
	for i := range patterns {
		for _, element := range patterns[i].elements {
			switch {
			case !element.wild:
				h.names[element.text] = true
			case strings.Trim(element.text, "*") != "":
				h.wild = append(h.wild, element)
			}
		}
	}
	return h
}

func (h *hints) match(file string) bool {
	for element := range strings.SplitSeq(file, "/") {
		if h.names[element] || h.wild.match(element) {
			return true
		}
	}
	return false
}

// treeOperations returns the reading of each file below the roots that may hold secrets.
func (r *pathResolver) treeOperations(t treeRead, roots []place) (out []operation) {
	files, ok := r.secretFiles()
	if !ok {
		return []operation{{tool: FileRead, place: &place{text: unknown}, says: unlisted}}
	}
	for _, f := range files {
		if !slices.ContainsFunc(roots, func(root place) bool { return r.reads(t, &root, &f) }) {
			continue
		}
		if len(out) == maxFound {
			return append(out, operation{tool: FileRead, place: &place{text: unknown}, says: unlisted})
		}
		name := strings.Join(f.path, "/")
		p := r.place(r.dir, name)
		out = append(out, operation{tool: FileRead, place: &p, says: "Reads " + show(name)})
	}
	return out
}

// reads reports whether reading the tree of a root reads a file.
func (r *pathResolver) reads(t treeRead, root *place, f *treeFile) bool {
	if !root.known() { // it may be any directory
		root = &place{written: spot{abs: elements(r.dir)}}
	}
	below, ok := under(append(elements(filepath.Clean(r.dir)), f.path...), root.written.abs)
	if !ok {
		below, ok = under(append(slices.Clone(r.realDir), f.path...), root.real.abs)
	}
	isHidden := slices.ContainsFunc(below, func(element string) bool { return element[0] == '.' })
	return ok && (t.hidden || !isHidden) && (t.ignored || !f.isIgnored) && t.picks(f.path[len(f.path)-1])
}

// under returns the elements of a path that come after those of a directory.
func under(file, dir []string) ([]string, bool) {
	if dir == nil || len(file) <= len(dir) || !slices.Equal(file[:len(dir)], dir) {
		return nil, false
	}
	return file[len(dir):], true
}

// picks reports whether the patterns may pick a name.
func (t *treeRead) picks(name string) bool {
	return len(t.patterns) == 0 || slices.ContainsFunc(t.patterns, func(pattern string) bool {
		choices, ok := alternatives(path.Base(pattern))
		return !ok || slices.ContainsFunc(choices, func(choice string) bool {
			_, err := path.Match(choice, "")
			return err != nil || strings.HasSuffix(pattern, "/") || choice == "**" || picks(choice, name)
		})
	})
}

// addTree adds what a command reads of directories. uses are the operations on the files that it names.
func (w *walker) addTree(name string, args []word, r *reading, uses []operation) {
	read, ok := treeReads[name]
	if !ok {
		return
	}
	words := options(args)
	t, ok := read(words)
	if !ok {
		return
	}
	if slices.ContainsFunc(args, func(a word) bool { return strings.HasPrefix(a.text, unknown) }) {
		t.hidden, t.ignored = true, true // it may be an option
	}
	if r != nil && r.doubt == "" {
		for _, u := range r.uses {
			if u.selects {
				t.patterns = append(t.patterns, u.word.text)
			}
		}
		if slices.ContainsFunc(t.patterns, func(p string) bool { return p[:min(1, len(p))] == "!" }) {
			t.patterns = nil // the last pattern that is about a file decides
		}
	}
	for _, op := range w.treeOperations(t, w.roots(name, words, uses)) {
		w.add(op)
	}
}

// roots returns the directories that a command reads: those that it names, or else where it runs.
func (w *walker) roots(name string, words commandWords, uses []operation) (out []place) {
	for i := range uses {
		if op := &uses[i]; op.tool == FileRead && op.place != nil && !op.place.written.selects {
			out = append(out, *op.place)
		}
	}
	if slices.Contains(archivers, name) && !words.has("C", "--directory") {
		for _, text := range words.words {
			for _, dir := range w.dirs {
				out = append(out, w.place(dir, text))
			}
		}
	}
	if len(out) > 0 && (name != "git" || words.any("--")) { // git's words may name revisions
		return out
	}
	for _, dir := range w.dirs {
		out = append(out, w.place(dir, "."))
	}
	return out
}

var archivers = []string{"tar", "bsdtar", "zip", "7z"}

// treeReads has the programs that read whole directories, with the words that make them.
var treeReads = map[string]func(s commandWords) (treeRead, bool){
	"grep": grepTree, "egrep": grepTree, "fgrep": grepTree, "zgrep": grepTree,
	"rgrep": func(commandWords) (treeRead, bool) { return everything, true },
	"ack":   func(commandWords) (treeRead, bool) { return everything, true },
	"rg":    rgTree, "ag": agTree, "git": gitGrepTree, "find": findTree, "fd": fdTree, "fdfind": fdTree,
	"cp": copyTree, "scp": copyTree, "rsync": copyTree, "diff": copyTree, "zip": copyTree,
	"tar": tarTree, "bsdtar": tarTree,
	"7z": func(s commandWords) (treeRead, bool) { return everything, s.first() == "a" || s.first() == "u" },
}

func grepTree(s commandWords) (treeRead, bool) {
	return everything, s.has("rRd", "--recursive", "--dereference-recursive", "--directories")
}

func rgTree(s commandWords) (treeRead, bool) {
	unrestricted := strings.Count(s.short, "u")
	noIgnore := false
	for _, option := range s.long {
		noIgnore = noIgnore || strings.HasPrefix(option, "--no-ignore")
		unrestricted += len(when(option == "--unrestricted", "u"))
	}
	return treeRead{
		hidden: unrestricted > 1 || s.any("--hidden") || strings.Contains(s.short, "."), ignored: unrestricted > 0 || noIgnore,
	}, !s.any("--files", "--type-list")
}

func agTree(s commandWords) (treeRead, bool) {
	all := s.has("u", "--unrestricted")
	return treeRead{hidden: all || s.any("--hidden"), ignored: all || s.has("aU", "--all-types", "--skip-vcs-ignores")}, true
}

func gitGrepTree(s commandWords) (treeRead, bool) {
	return treeRead{hidden: true, ignored: s.any("--no-index", "--no-exclude-standard")}, slices.Contains(s.words, "grep")
}

func copyTree(s commandWords) (treeRead, bool) {
	return everything, s.has("rRa", "--recursive", "--archive", "--recurse-paths")
}

func tarTree(s commandWords) (treeRead, bool) {
	creates := len(s.all) > 0 && s.all[0] != "" && s.all[0][0] != '-' && strings.ContainsAny(s.all[0], "cruA")
	return everything, creates || s.has("cruA", "--create", "--append", "--update")
}

// onlyNames are programs that read no content of the files that they are given.
var onlyNames = strings.Fields("ls ll dir tree du stat readlink realpath")

// runsReader reports whether a word after one of the options is a program that reads files.
func runsReader(all, after []string) bool {
	for i, text := range all[:max(0, len(all)-1)] {
		program := path.Base(all[i+1])
		if slices.Contains(after, text) && fileUses[program].tool == FileRead && !slices.Contains(onlyNames, program) {
			return true
		}
	}
	return false
}

func findTree(s commandWords) (treeRead, bool) {
	t := everything
	for i, text := range s.all[:max(0, len(s.all)-1)] {
		if text == "-name" || text == "-iname" {
			t.patterns = append(t.patterns, s.all[i+1])
		}
	}
	if s.any("!", "-not", "-o", "-or", ",") {
		t.patterns = nil
	}
	return t, runsReader(s.all, []string{"-exec", "-execdir", "-ok", "-okdir"})
}

func fdTree(s commandWords) (treeRead, bool) {
	all := s.has("u", "--unrestricted")
	return treeRead{hidden: all || s.has("H", "--hidden"), ignored: all || s.has("I", "--no-ignore")},
		runsReader(s.all, []string{"-x", "-X", "--exec", "--exec-batch"})
}

// treeTools are the tools that read all files below a directory.
var treeTools = strings.Fields("Grep grep grep_files search search_files search_file_content file_search read_many_files")

// treeRead returns which files of directories a tool reads.
func (in *input) treeRead(tool string) (treeRead, bool) {
	t := treeRead{hidden: true}
	for _, name := range []string{"respect_git_ignore", "respectGitIgnore"} {
		t.ignored = t.ignored || string(in.members[name]) == "false"
	}
	t.ignored = t.ignored || in.members["no_ignore"] != nil || in.members["file_filtering_options"] != nil
	for _, pattern := range in.selections(tool) {
		if pattern != "" && pattern[0] != '!' {
			t.patterns = append(t.patterns, pattern)
		}
	}
	return t, slices.Contains(treeTools, tool)
}
