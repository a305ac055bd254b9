package verify

import (
	"runtime/debug"
	"sync"
)

var modules = sync.OnceValue(func() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			versions[m.Path] = m.Version
		}
	}
	return versions
})

// moduleVersion is the version of a module that this binary holds; a test binary
// does not know.
func moduleVersion(path string) string {
	if v := modules()[path]; v != "" {
		return v
	}
	return "unknown"
}
