package stdio

import (
	"os"
	"slices"
	"strings"
)

// Environment returns the variables of the host that every program needs, followed
// by the groups. For a repeated variable, the last value counts. The host's own
// secrets are left out.
func Environment(groups ...[]string) []string {
	inherited := Inherit("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
	return slices.Concat(append([][]string{inherited}, groups...)...)
}

// Inherit returns the named variables of the host that are set.
func Inherit(names ...string) []string {
	var env []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Lookup returns the last value of a variable in env, or "" if env does not set it.
func Lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
