//go:build race

package e2e

// The binary under test is built with the race detector if the tests are.
var raceFlags = []string{"-race"}
