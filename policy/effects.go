package policy

import (
	"slices"
	"strings"
)

// fileUse describes how a program uses the paths among its words.
type fileUse struct {
	tool string // the tool for all words
	last string // the tool for the last word, if it differs
	skip int    // number of words before the first path
}

func addUses(into map[string]fileUse, names string, u fileUse) {
	for name := range strings.FieldsSeq(names) {
		into[name] = u
	}
}

// fileUses describes the use of files by well-known programs. A word that is not a
// path counts as one, which can only make the decision stricter.
var fileUses = func() map[string]fileUse {
	m := map[string]fileUse{}
	addUses(m,
		"cat tac head tail less more wc sort uniq diff cmp comm file stat od xxd hexdump strings nl cut paste fold "+
			"column ls ll dir tree du bat md5sum sha1sum sha256sum sha512sum "+
			"b2sum cksum base64 readlink realpath source . find", fileUse{tool: FileRead})
	addUses(m, "grep egrep fgrep rg ag ack jq yq awk gawk mawk sed fd fdfind", fileUse{tool: FileRead, skip: 1})
	addUses(m, "tee touch mkdir truncate mktemp sponge", fileUse{tool: FileWrite})
	addUses(m, "rm rmdir unlink shred", fileUse{tool: FileDelete})
	addUses(m, "chmod chown chgrp", fileUse{tool: FileWrite, skip: 1})
	addUses(m, "cp install ln rsync scp", fileUse{tool: FileRead, last: FileWrite})
	addUses(m, "mv", fileUse{tool: FileWrite})
	return m
}()

// addFromUses adds the files that a program opens and the addresses that it connects to. It is
// for programs that are not in the table of programs.
func (w *walker) addFromUses(name string, args []word) {
	if printsEnvironment(name, args) {
		w.addFile(FileRead, word{text: allVariables})
	}
	switch name {
	case "curl", "wget", "http", "https", "xh", "aria2c":
		w.addFetches(args)
		return
	case "ssh", "sftp", "telnet", "ftp", "nc", "ncat", "netcat", "socat":
		if first := afterOptions(args, sshValued, 0); len(first) > 0 {
			_, host, ok := strings.Cut(first[0].text, "@")
			if !ok {
				host = first[0].text
			}
			w.add(address(NetConnect, host))
		}
		return
	case "dd":
		for _, a := range args {
			if file, ok := strings.CutPrefix(a.text, "if="); ok {
				w.addFile(FileRead, word{text: file})
			} else if file, ok := strings.CutPrefix(a.text, "of="); ok {
				w.addFile(FileWrite, word{text: file})
			}
		}
		return
	}
	u, ok := fileUses[name]
	if !ok {
		return
	}
	if name == "sed" && slices.ContainsFunc(args, func(a word) bool {
		return strings.HasPrefix(a.text, "--in-place") || isShort(a.text) && strings.Contains(a.text, "i")
	}) {
		u.tool = FileWrite
	}
	w.addOperands(name, u, args)
}

// addOperands finds the paths among the words of a program and adds the operations on them.
func (w *walker) addOperands(name string, u fileUse, args []word) {
	paths := make([]word, 0, len(args))
	operandsOnly := false // after --
	for i, a := range args {
		switch {
		case operandsOnly:
			paths = append(paths, a)
		case a.text == "--":
			operandsOnly = true
		case name == "find" && (strings.HasPrefix(a.text, "-") && len(paths) > 0 || a.text == "(" || a.text == "!"):
			w.addPaths(u, paths)
			return
		case len(a.text) > 1 && a.text[0] == '-':
			if target, ok := strings.CutPrefix(a.text, "--target-directory="); ok {
				w.addFile(FileWrite, word{text: target})
			} else if a.text == "-t" && u.last != "" && i+1 < len(args) {
				w.addFile(FileWrite, args[i+1])
			}
		default:
			paths = append(paths, a)
		}
	}
	w.addPaths(u, paths[min(u.skip, len(paths)):])
}

// addPaths adds the operations on the paths. The last one may be a path on another machine
// (host:path), which adds a connection.
func (w *walker) addPaths(u fileUse, paths []word) {
	for i, p := range paths {
		tool := u.tool
		if u.last != "" && i == len(paths)-1 && i > 0 {
			tool = u.last
		}
		if tool == FileWrite && strings.Contains(p.text, ":") && u.last != "" { // host:path
			host, _, _ := strings.Cut(p.text, ":")
			w.add(address(NetConnect, host[strings.LastIndexByte(host, '@')+1:]))
			continue
		}
		w.addFile(tool, p)
	}
}

// addFetches adds what curl and similar programs use: addresses, files to send and files to
// write.
func (w *walker) addFetches(args []word) {
	found := false
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case (text == "-o" || text == "-O" || text == "--output" || text == "--output-document") && i+1 < len(args):
			if text == "-O" && strings.Contains(args[i+1].text, "://") {
				continue // curl's -O takes no word
			}
			i++
			w.addFile(FileWrite, args[i])
		case strings.HasPrefix(text, "--output="), strings.HasPrefix(text, "--output-document="):
			w.addFile(FileWrite, word{text: text[strings.IndexByte(text, '=')+1:]})
		case (text == "-T" || text == "--upload-file" || text == "-K" || text == "--config") && i+1 < len(args):
			i++
			w.addFile(FileRead, args[i])
		case strings.HasPrefix(text, "@") || strings.Contains(text, "=@"):
			w.addFile(FileRead, word{text: text[strings.IndexByte(text, '@')+1:]})
		case strings.Contains(text, "://"), text != "" && text[0] != '-' && looksLikeHost(text):
			found = true
			w.add(address(NetFetch, text))
		}
	}
	if !found {
		w.add(address(NetFetch, unknown))
	}
}

func looksLikeHost(text string) bool {
	return strings.ContainsAny(text, ".:"+unknown) || strings.HasPrefix(text, "localhost")
}
