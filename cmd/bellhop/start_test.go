package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// maxOfPackage limits what a package of ours may do before main, in allocations of memory: each process pays for
// them, also the helpers that start every program of an agent.
const maxOfPackage = 300

// maxOfTables are the limits of packages with many tables: each column is two functions.
var maxOfTables = map[string]int{"broker/store": 1400}

// initialized is a line of GODEBUG=inittrace=1: "init PACKAGE @2.3 ms, 0.02 ms clock, 4096 bytes, 26 allocs".
var initialized = regexp.MustCompile(`(?m)^init bellhop/(\S+) @.* (\d+) allocs$`)

func TestOurPackagesDoLittleBeforeMain(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), mustExecutable(t))
	cmd.Args = []string{"bellhop", "version"} // the tests' binary runs the command of this name
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	packages := 0
	for _, line := range initialized.FindAllStringSubmatch(string(trace), -1) {
		name := line[1]
		if strings.HasSuffix(name, "test") || strings.HasPrefix(name, "internal/testenv") || name == "cmd/bellhop_test" {
			continue // only in this binary
		}
		allocations, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		packages++
		if most := max(maxOfPackage, maxOfTables[name]); allocations > most {
			t.Errorf("%s makes %d allocations before main, of at most %d: make at first use what it makes at package level",
				name, allocations, most)
		}
	}
	if packages < 20 {
		t.Fatalf("the trace names %d of our packages:\n%s", packages, trace)
	}
}

// The launcher starts every program of an agent, twice where it has namespaces. What Go initializes before it delays
// each.
func TestTheLauncherRunsBeforeTheRestOfTheProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("elsewhere the launcher imports more")
		return
	}
	cmd := exec.CommandContext(t.Context(), mustExecutable(t), "sandbox-exec")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(trace), "usage: sandbox-exec") {
		t.Fatalf("%v\n%s", err, trace)
	}
	if !strings.Contains(string(trace), "init os @") {
		t.Fatalf("no trace:\n%s", trace)
	}
	for _, name := range []string{
		"net", "net/http", "regexp", "path/filepath", "github.com/jinzhu/inflection", "bellhop/protocol",
	} {
		if strings.Contains(string(trace), "init "+name+" @") {
			t.Errorf("%s is initialized before agenthost/sandbox/launch, which must not import what waits for it", name)
		}
	}
}

// The reader starts for each diff. It has no more to wait for than the launcher.
func TestTheReaderRunsBeforeTheRestOfTheProgram(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), mustExecutable(t), "workspace-read")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(trace), "read the request") {
		t.Fatalf("%v\n%s", err, trace)
	}
	if !strings.Contains(string(trace), "init os @") {
		t.Fatalf("no trace:\n%s", trace)
	}
	for _, name := range []string{"net", "net/http", "regexp", "github.com/jinzhu/inflection", "bellhop/protocol"} {
		if strings.Contains(string(trace), "init "+name+" @") {
			t.Errorf("%s is initialized before agenthost/workspace/treereader, which must not import what waits for it", name)
		}
	}
}

func mustExecutable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// BenchmarkStart starts programs as a release builds them, in turn, and reports how many times the processor time of
// an empty program each takes.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	commands := []struct {
		unit string
		line []string
		took time.Duration
	}{
		{unit: "empty", line: []string{buildRelease(b, dir, empty)}},
		{unit: "version", line: []string{buildRelease(b, dir, "."), "version"}},
		{unit: "helper", line: []string{filepath.Join(dir, "bellhop"), "sandbox-exec"}},
	}
	for b.Loop() {
		for i := range commands {
			commands[i].took += processorTime(b, commands[i].line)
		}
	}
	for _, c := range commands {
		b.ReportMetric(float64(c.took.Microseconds())/float64(b.N)/1e3, "ms-"+c.unit)
		b.ReportMetric(float64(c.took)/float64(commands[0].took), "×-"+c.unit)
	}
}

// buildRelease builds a program with the flags of a release, and returns its path.
func buildRelease(b *testing.B, dir, program string) string {
	b.Helper()
	output := filepath.Join(dir, "bellhop")
	if program != "." {
		output = filepath.Join(dir, "empty")
	}
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", output, program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v\n%s", program, err, out)
	}
	return output
}

// processorTime runs a program and returns the time that it took of all processors. A helper with wrong arguments
// fails, after the start that is measured.
func processorTime(b *testing.B, line []string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), line[0], line[1:]...)
	if err := cmd.Run(); cmd.ProcessState == nil {
		b.Fatal(err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
