package protocol

import (
	"fmt"
	"strings"
)

// OnlyCopies is what exists only in a workspace, so that deleting the workspace would lose it. Without items that is
// nothing.
type OnlyCopies struct {
	ID    string     `json:"id"` // of this state of the workspace, for who confirms that it may be lost
	Items []OnlyCopy `json:"items"`
}

// OnlyCopy is a file, directory, ref or repository that exists only in a workspace.
type OnlyCopy struct {
	Kind  OnlyCopyKind `json:"kind"`
	Name  string       `json:"name"`  // path, which ends in a slash for all below a directory; ref; or why the workspace cannot be read
	Count int          `json:"count"` // of files, commits or stashes; 0 = it is none of these
}

// OnlyCopyKind is the kind of an OnlyCopy.
type OnlyCopyKind string

// The kinds, in the order in which they are listed.
const (
	OnlyChanged    OnlyCopyKind = "changed"    // files that differ from the commit that is checked out
	OnlyHidden     OnlyCopyKind = "hidden"     // the same, and git was told to pass over them
	OnlyStaged     OnlyCopyKind = "staged"     // content that only the index has
	OnlyIgnored    OnlyCopyKind = "ignored"    // ignored files that no tool makes again
	OnlyUnread     OnlyCopyKind = "unread"     // what the host cannot read, or that is too large
	OnlyRepository OnlyCopyKind = "repository" // a repository inside; Count is its files
	OnlySubmodule  OnlyCopyKind = "submodule"
	OnlyWorktree   OnlyCopyKind = "worktree" // another work tree of the workspace's repository
	OnlyCommits    OnlyCopyKind = "commits"  // that a ref or HEAD leads to; those of an earlier item do not count again
	OnlyObject     OnlyCopyKind = "object"   // a ref to a tag, file or tree
	OnlyStash      OnlyCopyKind = "stash"
	OnlyReflog     OnlyCopyKind = "reflog"  // commits that git's logs lead to, and no ref
	OnlyUnknown    OnlyCopyKind = "unknown" // the workspace cannot be read
)

// onlyCopyNouns name one and several of a kind.
var onlyCopyNouns = map[OnlyCopyKind][2]string{
	OnlyChanged: {"changed file", "changed files"}, OnlyHidden: {"changed file that git passes over", "changed files that git passes over"},
	OnlyStaged: {"staged file", "staged files"}, OnlyIgnored: {"ignored file", "ignored files"},
	OnlyUnread: {"file that cannot be read", "files that cannot be read"}, OnlyRepository: {"repository inside", "repositories inside"},
	OnlySubmodule: {"submodule", "submodules"}, OnlyWorktree: {"linked work tree", "linked work trees"},
	OnlyCommits: {"commit", "commits"}, OnlyObject: {"tag", "tags"}, OnlyStash: {"stash", "stashes"},
	OnlyReflog: {"commit of no branch", "commits of no branch"},
}

// Exist reports whether there are any.
func (o *OnlyCopies) Exist() bool { return o != nil && len(o.Items) > 0 }

const (
	summaryNames = 3
	summaryName  = 100 // bytes
)

// Summary says in some words what there is, with the first names of each kind unless short is set.
func (o *OnlyCopies) Summary(short bool) string {
	var parts []string
	for at := 0; at < len(o.Items); {
		end := at
		for end < len(o.Items) && o.Items[end].Kind == o.Items[at].Kind {
			end++
		}
		parts = append(parts, summaryOf(o.Items[at:end], short))
		at = end
	}
	return strings.Join(parts, ", ")
}

// summaryOf summarizes items of one kind.
func summaryOf(items []OnlyCopy, short bool) string {
	kind, count := items[0].Kind, 0
	if kind == OnlyUnknown {
		return items[0].Name
	}
	var names []string
	for _, item := range items {
		switch kind {
		case OnlyRepository, OnlySubmodule, OnlyWorktree, OnlyObject:
			count++
		default:
			count += item.Count
		}
		if len(names) < summaryNames {
			names = append(names, CutText(strings.TrimPrefix(item.Name, "refs/heads/"), summaryName))
		}
	}
	noun := onlyCopyNouns[kind][1]
	if count == 1 {
		noun = onlyCopyNouns[kind][0]
	}
	text := fmt.Sprintf("%d %s", count, noun)
	if short || kind == OnlyStash || kind == OnlyReflog {
		return text
	}
	if more := len(items) - len(names); more > 0 {
		names = append(names, "…")
	}
	return text + " (" + strings.Join(names, ", ") + ")"
}
