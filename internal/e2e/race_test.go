//go:build race

package e2e

// The binary under test is watched for data races when the tests are.
var raceFlags = []string{"-race"}
