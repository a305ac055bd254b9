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

// moduleVersion returns the version of a module in this binary; "unknown" in a test binary.
func moduleVersion(path string) string {
	if v := modules()[path]; v != "" {
		return v
	}
	return "unknown"
}
