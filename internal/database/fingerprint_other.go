//go:build !linux

package database

// fileFingerprint does not distinguish files here. A restored one is recognised
// by what the hosts know to be acknowledged.
func fileFingerprint(string) (string, error) { return "", nil }
