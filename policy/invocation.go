package policy

import "strings"

// invocation is a simple command of a script, as rules see it.
type invocation struct {
	words   []string
	plain   []string // without the program's own options before its subcommand; nil if the program is not known
	doubt   string   // why it is not understood, "" if every word is
	danger  string
	reading *reading

	mustBeNamed bool // a rule must name the program and subcommand to allow it
	isPiped     bool // its input comes from another command, a here-document or a file
	atTop       bool // it runs in the workspace itself

	variants [][]string // the result of forms; nil before its first call
}

// depth is the number of words that name the program and its subcommand.
func (r *reading) depth() int { return strings.Count(r.program.key, " ") + 1 }

// forms returns the lists of words that denying and confirming rules are compared with:
//   - the words as they are written,
//   - the words without the options before a subcommand. An option may take the next word as its
//     value or not, so there is a list for each reading,
//   - the words without any options.
func (c *invocation) forms() [][]string {
	if c.variants != nil || len(c.words) == 0 {
		return c.variants
	}
	c.variants = [][]string{c.words}
	if c.plain != nil {
		c.variants = append(c.variants, c.plain)
	}
	starts := map[int]bool{1: true} // indexes at which an option or the subcommand may begin
	for i := 1; i < len(c.words) && i < maxForms; i++ {
		if !starts[i] || !strings.HasPrefix(c.words[i], "-") {
			continue
		}
		starts[i+1], starts[i+2] = true, true // the option's value may be a word of its own
	}
	for i := 2; i < len(c.words); i++ {
		if starts[i] {
			c.variants = append(c.variants, c.withProgram(c.words[i:]))
		}
	}
	bare := []string{}
	for _, word := range c.words[1:] {
		if !strings.HasPrefix(word, "-") {
			bare = append(bare, word)
		}
	}
	c.variants = append(c.variants, c.withProgram(bare))
	if r := c.reading; r != nil {
		c.variants = append(c.variants, append(strings.Fields(r.program.key), texts(r.operands)...))
	}
	return c.variants
}

// maxForms limits the words that are read as options before a subcommand.
const maxForms = 32

// withProgram returns the words with the command's program in front.
func (c *invocation) withProgram(words []string) []string {
	return append([]string{c.words[0]}, words...)
}
