package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

const (
	maxLogFile    = 16 << 20
	maxLogged     = 200_000  // commits that git's logs name
	maxCommitList = 64 << 20 // bytes of commits with their parents
	stashRef      = "refs/stash"
)

// gitsOwnRefs are files in which git keeps the commits that it is about to use, or moved a branch away from.
var gitsOwnRefs = []string{
	"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_HEAD", "rebase-merge/orig-head",
	"rebase-apply/orig-head", "rebase-merge/autostash", "rebase-apply/autostash",
}

// onlyCommits are the commits that a workspace's repository leads to.
type onlyCommits struct {
	refs    map[string]string   // with their objects, without those of remotes
	known   []string            // objects that another repository has
	logged  map[string]bool     // objects that git's logs name, or git keeps for itself
	stashed []string            // of logged: the stashes
	types   map[string]string   // of the objects
	commit  map[string]string   // to which an object leads, by its id
	parents map[string][]string // of the commits that no other repository has
	counted map[string]bool
}

func (o *onlySearch) findCommits(ctx context.Context, mirror repository) error {
	m, rec := o.manager, o.rec
	c := &onlyCommits{logged: map[string]bool{}, counted: map[string]bool{}}
	submodules, worktrees, err := o.readGitDir(ctx, c)
	if err != nil {
		return err
	}
	o.add(protocol.OnlySubmodule, submodules)
	o.add(protocol.OnlyWorktree, worktrees)
	if err := c.takeRefs(mirror, rec); err != nil {
		return err
	}
	if rec.Kind == kindClone {
		if err := c.takeProject(ctx, m, rec); err != nil {
			return err
		}
	}
	return o.addCommits(ctx, mirror, c)
}

// findInProject finds the commits of a clone whose directory is gone: the project has its branch.
func (o *onlySearch) findInProject(ctx context.Context) error {
	m := o.manager
	src, err := m.recordSource(ctx, o.rec)
	if err != nil {
		return err
	}
	c := &onlyCommits{refs: map[string]string{}, known: []string{o.rec.Base}, counted: map[string]bool{}}
	if err := c.takeProject(ctx, m, o.rec); err != nil {
		return err
	}
	return o.addCommits(ctx, repository{gitDir: src.gitDir}, c)
}

// readGitDir reads what the mirror does not have of the workspace's git directory.
func (o *onlySearch) readGitDir(ctx context.Context, c *onlyCommits) (submodules, worktrees map[string]int, err error) {
	m := o.manager
	agent, err := m.openGitDir(ctx, o.rec)
	if err != nil {
		return nil, nil, err
	}
	defer agent.close()
	if submodules, err = countNames(agent, "modules"); err != nil {
		return nil, nil, err
	}
	if worktrees, err = countNames(agent, "worktrees"); err != nil {
		return nil, nil, err
	}
	for _, name := range gitsOwnRefs {
		content, err := agent.readFile(name, maxRefFile)
		if err != nil {
			return nil, nil, err
		}
		for id := range strings.FieldsSeq(string(content)) {
			c.log(id)
		}
	}
	return submodules, worktrees, c.readLogs(agent, "logs", 0)
}

// countNames returns the names in a directory of a git directory.
func countNames(agent *tree, dir string) (map[string]int, error) {
	names, err := agent.names(dir)
	counts := map[string]int{}
	for _, name := range names {
		counts[name] = 0
	}
	return counts, err
}

func (c *onlyCommits) log(id string) {
	if objectID.MatchString(id) && strings.Trim(id, "0") != "" {
		c.logged[id] = true
	}
}

// readLogs reads in a directory of logs to which commits git has moved refs.
func (c *onlyCommits) readLogs(agent *tree, dir string, depth int) error {
	entries, err := agent.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := dir + "/" + e.Name
		switch {
		case e.Kind == treereader.KindDirectory && depth < maxRefDepth:
			err = c.readLogs(agent, path, depth+1)
		case e.Kind == treereader.KindFile && !strings.HasPrefix(path, "logs/refs/remotes/"):
			err = c.readLog(agent, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *onlyCommits) readLog(agent *tree, path string) error {
	content, err := agent.readFile(path, maxLogFile)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(content) {
		from, rest, _ := bytes.Cut(line, []byte(" "))
		to, _, _ := bytes.Cut(rest, []byte(" "))
		if path == "logs/"+stashRef {
			c.stashed = append(c.stashed, string(to))
		}
		c.log(string(from))
		c.log(string(to))
		if len(c.logged) > maxLogged {
			return protocol.Errorf(protocol.CodeConflict, "The workspace's logs of git name over %d commits", maxLogged)
		}
	}
	return nil
}

// takeRefs takes the refs of a mirror. What the remotes' refs lead to, the remotes have.
func (c *onlyCommits) takeRefs(mirror repository, rec *record) error {
	refs, err := mirroredRefs(mirror)
	if err != nil {
		return err
	}
	c.known = append(c.known, rec.Base)
	if rec.Pushed != nil && rec.Pushed.Commit != "" {
		c.known = append(c.known, rec.Pushed.Commit)
	}
	c.refs = map[string]string{}
	for name, id := range refs {
		if strings.HasPrefix(name, "refs/remotes/") {
			c.known = append(c.known, id)
		} else {
			c.refs[name] = id
		}
	}
	head, err := os.ReadFile(filepath.Join(mirror.gitDir, "HEAD"))
	if id := strings.TrimSpace(string(head)); objectID.MatchString(id) { // else it is a branch
		c.refs["HEAD"] = id
	}
	if id := c.refs[stashRef]; id != "" && !slices.Contains(c.stashed, id) {
		c.stashed = append(c.stashed, id)
	}
	return err
}

// takeProject takes what a clone's project has, and the session's branch there: that is deleted with the clone.
func (c *onlyCommits) takeProject(ctx context.Context, m *Manager, rec *record) error {
	src, err := m.recordSource(ctx, rec)
	if err != nil {
		return err
	}
	refs, err := m.projectRefs(ctx, src)
	if err != nil {
		return err
	}
	own := "refs/heads/" + rec.Branch
	switch tip := refs[own]; {
	case tip == "":
	case c.refs[own] == "":
		c.refs[own] = tip
	case c.refs[own] != tip: // a person has changed it there
		c.refs[own+" in the project"] = tip
	}
	delete(refs, own)
	start, err := m.startTips(rec)
	c.known = slices.AppendSeq(append(c.known, start...), maps.Values(refs))
	return err
}

// addCommits adds the commits and other objects that no other repository has.
func (o *onlySearch) addCommits(ctx context.Context, repo repository, c *onlyCommits) error {
	if err := c.readTypes(ctx, o.manager, repo); err != nil {
		return err
	}
	if err := c.readParents(ctx, o.manager, repo); err != nil {
		return err
	}
	isKnown := map[string]bool{}
	for _, id := range c.known {
		isKnown[id] = true
	}
	commits, objects := map[string]int{}, map[string]int{}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.refs)), func(name string) bool { return name == stashRef })
	slices.SortStableFunc(names, func(a, b string) int { return refRank(a) - refRank(b) })
	for _, name := range names {
		id := c.refs[name]
		if n := c.count(c.commit[id]); n > 0 {
			commits[name] = n
			_, _ = fmt.Fprintln(o.state, "ref", name, id)
		}
		if kind := c.types[id]; kind != "" && kind != "commit" && !isKnown[id] {
			objects[name] = 0
			_, _ = fmt.Fprintln(o.state, "object", name, id)
		}
	}
	o.add(protocol.OnlyCommits, commits)
	o.add(protocol.OnlyObject, objects)
	for _, id := range c.stashed {
		c.count(c.commit[id])
		_, _ = fmt.Fprintln(o.state, "stash", id)
	}
	if len(c.stashed) > 0 {
		o.add(protocol.OnlyStash, map[string]int{stashRef: len(c.stashed)})
	}
	o.addLogged(c)
	return nil
}

// addLogged adds the commits that only git's logs lead to.
func (o *onlySearch) addLogged(c *onlyCommits) {
	count := 0
	for _, id := range slices.Sorted(maps.Keys(c.logged)) {
		if n := c.count(c.commit[id]); n > 0 {
			count += n
			_, _ = fmt.Fprintln(o.state, "log", id)
		}
	}
	if count > 0 {
		o.add(protocol.OnlyReflog, map[string]int{"logs": count})
	}
}

// refRank orders refs: commits count for the first one that leads to them.
func refRank(name string) int {
	switch {
	case strings.HasPrefix(name, "refs/heads/"):
		return 0
	case name == "HEAD":
		return 1
	}
	return 2
}

// count returns how many commits a commit leads to that no other repository has, and that were not counted before.
func (c *onlyCommits) count(id string) (count int) {
	for next := []string{id}; len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		parents, isOnly := c.parents[id]
		if !isOnly || c.counted[id] {
			continue
		}
		c.counted[id] = true
		count++
		next = append(next, parents...)
	}
	return count
}

// readTypes reads what the refs and logs lead to. An object that is missing leads to nothing.
func (c *onlyCommits) readTypes(ctx context.Context, m *Manager, repo repository) error {
	ids := map[string]bool{}
	for id := range c.logged {
		ids[id] = true
	}
	for _, id := range c.refs {
		ids[id] = true
	}
	c.types, c.commit = map[string]string{}, map[string]string{}
	all := slices.Sorted(maps.Keys(ids))
	var asked strings.Builder
	for _, id := range all {
		asked.WriteString(id + "\n" + id + "^{commit}\n")
	}
	if len(all) == 0 {
		return nil
	}
	out, err := m.git.run(ctx, call{
		dir: m.data, repo: repo, noFiles: true, stdin: strings.NewReader(asked.String()), limit: maxCommitList,
		args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"},
	})
	if err != nil {
		return err
	}
	lines := strings.Split(trimNewline(out), "\n")
	if len(lines) != 2*len(all) {
		return errors.New("git does not tell the types of all objects")
	}
	for i, id := range all {
		if _, kind, _ := strings.Cut(lines[2*i], " "); kind != "missing" {
			c.types[id] = kind
		}
		if commit, kind, _ := strings.Cut(lines[2*i+1], " "); kind == "commit" {
			c.commit[id] = commit
		}
	}
	return nil
}

// readParents reads the commits that no other repository has.
func (c *onlyCommits) readParents(ctx context.Context, m *Manager, repo repository) error {
	var asked strings.Builder
	for _, id := range slices.Sorted(maps.Values(c.commit)) {
		asked.WriteString(id + "\n")
	}
	c.parents = map[string][]string{}
	if asked.Len() == 0 {
		return nil
	}
	for _, id := range c.known {
		asked.WriteString("^" + id + "\n")
	}
	out, err := m.git.run(ctx, call{
		dir: m.data, repo: repo, noFiles: true, stdin: strings.NewReader(asked.String()), limit: maxCommitList,
		args: []string{"rev-list", "--parents", "--ignore-missing", "--stdin"},
	})
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if ids := strings.Fields(line); len(ids) > 0 {
			c.parents[ids[0]] = ids[1:]
		}
	}
	return nil
}
