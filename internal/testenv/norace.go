//go:build !race

package testenv

var raceFlags []string
