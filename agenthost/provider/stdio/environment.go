package stdio

import (
	"os"
	"slices"
	"strings"
)

// Environment returns what any program needs of the host's environment, followed by the
// groups; of two values the later one counts. The host's own secrets stay out.
func Environment(groups ...[]string) []string {
	inherited := Inherit("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
	return slices.Concat(append([][]string{inherited}, groups...)...)
}

// Inherit returns those of the host's variables that are set.
func Inherit(names ...string) []string {
	var env []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Lookup returns the value of a variable that counts, "" without one.
func Lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
