//go:build unix && !linux

package process

// parent is used by tests of the parent-death signal alone, which only Linux has.
func parent(string) { select {} }
