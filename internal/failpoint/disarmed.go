//go:build !failpoints

package failpoint

// Hit does nothing in a binary without fail points.
func Hit(string) {}
