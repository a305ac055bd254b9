package setup

import (
	"path/filepath"
	"runtime"

	"golang.org/x/sys/cpu"
)

// Platform is what decides between the builds of a program.
type Platform struct {
	OS, Arch string // as Go names them
	Musl     bool   // its C library is musl
	AVX2     bool   // counts on amd64 alone
}

// ThisPlatform is the machine's.
func ThisPlatform() Platform {
	return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, Musl: hasMusl(), AVX2: cpu.X86.HasAVX2}
}

// hasMusl looks for the loaders: a machine can have musl beside glibc, and then
// programs for either run.
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

// key is the platform as the manifest writes it.
func (p Platform) key(baseline bool) string {
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

// artifact that p needs of a; false if there is none.
func (a Agent) artifact(p Platform) (Artifact, bool) {
	if found, ok := a.Artifacts[AnyPlatform]; ok {
		return found, true
	}
	found, ok := a.Artifacts[p.key(a.Baseline)]
	return found, ok
}
