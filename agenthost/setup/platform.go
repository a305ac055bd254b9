package setup

import (
	"path/filepath"
	"runtime"

	"golang.org/x/sys/cpu"
)

// Platform holds the properties that select a build of a program.
type Platform struct {
	OS, Arch string // as Go names them
	Musl     bool   // its C library is musl
	AVX2     bool   // matters only on amd64
}

// ThisPlatform returns the platform of this machine.
func ThisPlatform() Platform {
	return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, Musl: hasMusl(), AVX2: cpu.X86.HasAVX2}
}

// hasMusl reports whether only musl's loader exists. With glibc's loader beside it,
// builds for glibc run, too.
func hasMusl() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	exists := func(pattern string) bool {
		found, _ := filepath.Glob(pattern)
		return len(found) > 0
	}
	return exists("/lib/ld-musl-*.so.1") && !exists("/lib*/ld-linux*.so*") && !exists("/lib/*/ld-linux*.so*")
}

// manifestKey returns the key of Agent.Artifacts for the platform.
func (p Platform) manifestKey(baseline bool) string {
	arch := p.Arch
	if arch == "amd64" {
		arch = "x64"
	}
	key := p.OS + "-" + arch
	if baseline && arch == "x64" && !p.AVX2 {
		key += "-baseline"
	}
	if p.OS == "linux" && p.Musl {
		key += "-musl"
	}
	return key
}

// Artifact returns the package for a platform, or false if there is none.
func (a Agent) Artifact(p Platform) (Artifact, bool) {
	if found, ok := a.Artifacts[AnyPlatform]; ok {
		return found, true
	}
	found, ok := a.Artifacts[p.manifestKey(a.Baseline)]
	return found, ok
}
