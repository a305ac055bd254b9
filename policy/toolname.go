package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// toolNames are the names that the tool patterns of rules may use.
type toolNames []string

func newToolNames(o Options) toolNames {
	names := slices.Clone(commonNames)
	names = slices.AppendSeq(names, maps.Keys(common))
	for _, own := range o.ToolNames {
		names = slices.AppendSeq(names, maps.Keys(own))
	}
	slices.Sort(names)
	return names
}

// isKnown reports whether a pattern can match a tool. Tools of MCP servers and tools
// that are not in the table may have any name after their prefix.
func (n toolNames) isKnown(pattern string) bool {
	for _, prefix := range []string{"mcp:", "mcp__", "other:"} {
		if strings.HasPrefix(pattern, prefix) {
			return true
		}
	}
	g := newGlob(pattern) // such as *, which matches the prefixes too
	return slices.ContainsFunc(n, g.match) || g.match("mcp:") || g.match("other:")
}

// nearest returns the known name that is most like an unknown one. For a name with a colon it
// is a common name, because only those have one.
func (n toolNames) nearest(name string) string {
	if strings.Contains(name, ":") {
		n = commonNames
	}
	return slices.MinFunc(n, func(a, b string) int {
		return levenshtein.Distance(name, a, nil) - levenshtein.Distance(name, b, nil)
	})
}
