//go:build !failpoints

package failpoint

// Hit does nothing in a binary without fail points.
func Hit(string) {}

// Mutated is false in a binary without fail points.
func Mutated(string) bool { return false }

// MutatedOnce is false in a binary without fail points.
func MutatedOnce(string, int64) bool { return false }
