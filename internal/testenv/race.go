//go:build race

package testenv

// A program under test is built with the race detector if the tests are.
var raceFlags = []string{"-race"}
