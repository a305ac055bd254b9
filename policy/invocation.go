package policy

import "strings"

// invocation is a simple command of a script, as rules see it.
type invocation struct {
	words   []string
	plain   []string // without the program's own options before its subcommand; nil if the program is not known
	doubt   string   // why it is not understood, "" if every word is
	danger  string
	reading *reading

	isNamed bool // a rule must name the program and subcommand to allow it
	isPiped bool // its input comes from another command, a here-document or a file
	atTop   bool // it runs in the workspace itself

	variants [][]string // what forms computed
}

// depth is the number of words that name the program and its subcommand.
func (r *reading) depth() int { return strings.Count(r.program.key, " ") + 1 }

// forms lists the words as they may read to a rule that denies or asks: without the
// options before a subcommand, whether or not these take a value, and without any
// options.
func (c *invocation) forms() [][]string {
	if c.variants != nil || len(c.words) == 0 {
		return c.variants
	}
	c.variants = [][]string{c.words}
	if c.plain != nil {
		c.variants = append(c.variants, c.plain)
	}
	starts := map[int]bool{1: true}
	for i := 1; i < len(c.words) && i < maxForms; i++ {
		if !starts[i] || !strings.HasPrefix(c.words[i], "-") {
			continue
		}
		starts[i+1], starts[i+2] = true, true // the option's value may be a word of its own
	}
	for i := 2; i < len(c.words); i++ {
		if starts[i] {
			c.variants = append(c.variants, c.with(c.words[i:]))
		}
	}
	bare := []string{}
	for _, word := range c.words[1:] {
		if !strings.HasPrefix(word, "-") {
			bare = append(bare, word)
		}
	}
	c.variants = append(c.variants, c.with(bare))
	if r := c.reading; r != nil {
		c.variants = append(c.variants, append(strings.Fields(r.program.key), texts(r.operands)...))
	}
	return c.variants
}

// maxForms limits the words that are read as options before a subcommand.
const maxForms = 32

func (c *invocation) with(words []string) []string {
	return append([]string{c.words[0]}, words...)
}
