//go:build unix && !linux

package process

// parent is used only by tests of the parent-death signal, which only Linux has.
func parent(string) { select {} }
