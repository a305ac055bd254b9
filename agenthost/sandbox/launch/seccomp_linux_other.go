//go:build linux && !amd64

package launch

var oldChanges []uint32
