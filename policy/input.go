package policy

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// input holds a call's arguments: the members of an object, or one text.
type input struct {
	raw     json.RawMessage
	members map[string]json.RawMessage
	text    string
	colon   bool // the tool's name contains a colon
}

func newInput(raw json.RawMessage) input {
	in := input{raw: raw}
	switch trimmed := bytes.TrimSpace(raw); {
	case len(trimmed) == 0:
	case trimmed[0] == '{':
		var ok bool
		if in.members, ok = members(trimmed); !ok {
			_ = json.Unmarshal(trimmed, &in.members) // a value that is not an object has no members
		}
	case trimmed[0] == '"':
		_ = json.Unmarshal(trimmed, &in.text)
	}
	return in
}

// argument returns a member as text: the content of a string, or the JSON of any
// other value.
func (in *input) argument(name string) (string, bool) {
	raw, ok := in.members[name]
	if !ok {
		return "", false
	}
	if text, ok := asText(raw); ok {
		return text, true
	}
	return string(raw), true
}

func asText(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if text, ok := plain(raw); ok {
		return text, true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

func asList(raw json.RawMessage) ([]string, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var list []string
	return list, json.Unmarshal(raw, &list) == nil
}

// each calls f with the text of every named member. For a member that is a list, it
// calls f with every element.
func (in *input) each(names []string, f func(string)) {
	for _, name := range names {
		raw, ok := in.members[name]
		if !ok {
			continue
		}
		if text, ok := asText(raw); ok {
			f(text)
			continue
		}
		list, _ := asList(raw)
		for _, one := range list {
			f(one)
		}
	}
}

// The members that agents use. If several are present, all count.
var (
	wordMembers    = protocol.WordMembers()
	commandMembers = []string{"command", "cmd", "script", "commands", "chars"}
	// plainMembers of a shell tool's call do not change what runs.
	plainMembers = []string{
		"description", "reason", "explanation", "justification", "title", "timeout", "timeout_ms", "timeoutMs",
		"yield_time_ms", "max_output_tokens", "run_in_background", "is_background", "background", "session_id",
		"sessionId", "process_id", "call_id", "turn_id", "itemId", "parsed_cmd", "commandActions", "args", "login",
		"tty", "interactive",
	}
	// selectMembers of a reading tool's call are patterns for the files that it reads.
	selectMembers = []string{
		"glob", "globs", "include", "includes", "glob_pattern", "globPattern", "file_pattern", "filePattern",
		"include_pattern", "includePattern", "include_glob", "includeGlob", "file_glob", "fileGlob",
	}
	// searchMembers of a reading tool's call are neither paths nor commands.
	searchMembers = []string{
		"pattern", "query", "regex", "exclude", "type", "output_mode", "head_limit", "limit", "offset",
		"multiline", "-i", "-n", "-A", "-B", "-C", "-o", "context", "case_sensitive", "caseSensitive", "recursive",
		"depth", "ignore", "max_results", "maxResults", "fixed_strings", "respect_git_ignore", "respectGitIgnore",
		"file_filtering_options",
	}
	// textMembers of a file tool's call are content.
	textMembers = []string{
		"content", "contents", "text", "old_string", "new_string", "oldString", "newString", "old_str", "new_str",
		"insert_text", "file_text", "new_source", "old_content", "new_content", "instruction", "instructions", "edits",
		"operations", "changes", "locations", "cell_id", "kind",
	}
	folderMembers = []string{"cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir", "dir_path"}
	pathMembers   = []string{
		"path", "file_path", "filePath", "filepath", "file", "filename", "notebook_path", "absolute_path", "absolutePath",
		"target_file", "target", "destination", "source", "old_path", "new_path", "oldPath", "newPath", "parentDir",
		"dir_path", "directory", "dir", "paths", "files", "file_paths", "filePaths", "include_directories",
	}
	patchMembers = []string{"patch", "input", "patchText", "diff", "unified_diff"}
	urlMembers   = []string{"url", "uri", "urls"}
	// outputMembers are those of a call that reads the output of a background command.
	outputMembers = []string{
		"bash_id", "shell_id", "task_id", "taskId", "id", "filter", "block", "timeout", "wait_up_to", "max_output_tokens",
	}
	// requestMembers are those of a call that reaches the network.
	requestMembers = []string{"prompt", "query", "format", "timeout", "max_length", "allowed_domains", "blocked_domains"}
)

// commands returns the scripts of a shell tool's call. For agents that send a
// program and its arguments, it returns the words.
func (in *input) commands() (scripts []string, words [][]string) {
	if in.text != "" {
		scripts = append(scripts, in.text)
	}
	for _, name := range commandMembers {
		raw := in.members[name]
		if text, ok := asText(raw); ok {
			scripts = append(scripts, text)
		} else if list, ok := asList(raw); ok && len(list) > 0 {
			words = append(words, list)
		}
	}
	if args, ok := asList(in.members["args"]); ok && len(scripts) == 1 && len(words) == 0 {
		return nil, [][]string{append(scripts, args...)}
	}
	return scripts, words
}

// folder returns the directory in which a command starts, "" for the workspace, or unknown
// if the members name different directories.
func (in *input) folder() string {
	folder := ""
	in.each(folderMembers, func(text string) {
		if folder != "" && text != folder {
			text = unknown
		}
		folder = text
	})
	return folder
}

var patchLine = lazyregexp.New(`(?m)^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:\+\+\+|---) (?:[ab]/)?)([^\t\r\n]+)`)

// paths returns the paths of a file tool's call, from members, lists of changes and
// patches. If isFile is set, it also returns texts of unknown members that look like paths; a sentence is a path that is
// not known.
func (in *input) paths(isFile bool) []string {
	var out []string
	add := func(path string) {
		if path != "" && path != "/dev/null" {
			out = append(out, path)
		}
	}
	in.each(pathMembers, add)
	in.each([]string{"pattern"}, func(text string) {
		if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.Contains(text, "..") {
			add(text)
		}
	})
	for _, name := range []string{"changes", "locations", "edits", "operations"} {
		in.changedPaths(in.members[name], add)
	}
	patch := func(text string) {
		for _, m := range patchLine.FindAllStringSubmatch(text, -1) {
			add(strings.TrimSpace(m[1]))
		}
	}
	in.each(patchMembers, patch)
	patch(in.text)
	if isFile {
		others := in.otherMembers(wordMembers, pathMembers, patchMembers, searchMembers, selectMembers, textMembers)
		in.each(others, func(text string) {
			switch looksLikePath := strings.ContainsAny(text, "/~") || strings.Contains(text, ".."); {
			case looksLikePath && strings.ContainsAny(text, " \t\n"):
				add(unknown)
			case looksLikePath:
				add(text)
			}
		})
		if slices.ContainsFunc(others, func(name string) bool { return bytes.ContainsRune(in.members[name], '{') }) {
			add(unknown) // a path may be deeper in an object
		}
	}
	return out
}

// otherMembers lists the members that are in none of the lists, sorted.
func (in *input) otherMembers(lists ...[]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(in.members)) {
		if !slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, name) }) {
			out = append(out, name)
		}
	}
	return out
}

// isSearch reports whether a reading tool's call without a path searches the workspace: it
// has members besides words, and all of them describe what to search for.
func (in *input) isSearch() bool {
	return len(in.otherMembers(wordMembers)) > 0 && len(in.otherMembers(wordMembers, searchMembers, selectMembers)) == 0
}

// patternTools are the tools whose "pattern" names files. To others it is what they look for in files.
var patternTools = []string{"Glob", "glob", "find_files"}

// selections returns the patterns by which a reading tool's call picks files.
func (in *input) selections(tool string) (patterns []string) {
	names := selectMembers
	if slices.Contains(patternTools, tool) {
		names = append([]string{"pattern"}, names...)
	}
	in.each(names, func(text string) { patterns = append(patterns, text) })
	return patterns
}

// unknownTexts returns the texts of the members that are in none of the lists, however deep they are.
func (in *input) unknownTexts(lists ...[]string) (texts []string) {
	var collect func(value any)
	collect = func(value any) {
		switch value := value.(type) {
		case string:
			texts = append(texts, value)
		case []any:
			for _, one := range value {
				collect(one)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				collect(value[name])
			}
		}
	}
	for _, name := range in.otherMembers(lists...) {
		var value any
		_ = json.Unmarshal(in.members[name], &value)
		collect(value)
	}
	return texts
}

// hasCommand reports whether a member names a command.
func (in *input) hasCommand() bool {
	return in.members["command"] != nil || in.members["cmd"] != nil || in.members["script"] != nil
}

// looksLikeCommand reports whether a text of unknown meaning may be a command: it begins with a program that is known
// here, or has a command in it that a shell would insert.
func looksLikeCommand(text string) bool {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if strings.Contains(text, "$(") || strings.HasPrefix(first, "./") {
		return true
	}
	if rest == "" && !strings.ContainsAny(text, ";|&<>") {
		return false
	}
	name := path.Base(strings.TrimRight(first, ";&|"))
	_, uses := fileUses[name]
	return uses || programs()[name] != nil || dangers[name] != nil || always[name] != "" || wrappers[name] != nil ||
		slices.Contains(interpreters, name)
}

// unknownMember returns the name of a member of a shell tool's call that may change what
// runs, or "" if there is none.
func (in *input) unknownMember() string {
	if text, _ := in.argument("chars"); text != "" {
		return "chars"
	}
	for _, name := range in.otherMembers(commandMembers, folderMembers, plainMembers) {
		switch string(in.members[name]) {
		case "null", "false", `""`, "[]", "{}":
		default:
			return name
		}
	}
	return ""
}

// changedPaths calls add with each path in raw: a list of objects with a path, or an object
// whose keys are paths.
func (in *input) changedPaths(raw json.RawMessage, add func(string)) {
	if len(raw) == 0 {
		return
	}
	if raw[0] == '{' {
		var by map[string]json.RawMessage
		_ = json.Unmarshal(raw, &by)
		for path, change := range by {
			add(path)
			one := newInput(change)
			one.each([]string{"move_path", "movePath"}, add)
		}
		return
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	for _, change := range list {
		one := newInput(change)
		one.each([]string{"path", "file_path", "filePath", "move_path", "movePath"}, add)
	}
}

var urlForm = lazyregexp.New(`(?i)\b(?:https?|ftp|wss?)://[^\s"'<>\\]+`)

// urls returns the URLs of a network tool's call.
func (in *input) urls() []string {
	var out []string
	in.each(urlMembers, func(text string) { out = append(out, text) })
	if len(out) > 0 {
		return out
	}
	if in.members == nil {
		return urlForm.FindAllString(string(in.raw), 64)
	}
	for _, name := range in.otherMembers(wordMembers) {
		out = append(out, urlForm.FindAllString(string(in.members[name]), 64)...)
	}
	return out
}
