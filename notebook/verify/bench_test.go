package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// BenchmarkThousandLines measures a check of 1,000 lines by a worker process that is warm, and of
// the same lines with an error in the middle. On Linux it also reports the CPU time of the worker,
// which other work on the machine hardly changes, and its resident memory at its peak.
func BenchmarkThousandLines(b *testing.B) {
	for _, c := range []struct{ language, begin, lines, end string }{
		{"python", "", "def f(x, y=1):\n    return [a + y for a in x if a > 1]\n", ""},
		{"rust", "", "fn f(x: u32) -> u32 {\n    let y = x + 1; y\n}\n", ""},
		{"java", "class A {\n", "  int f(int x) {\n    return x + 1;\n  }\n", "}\n"},
		{"cpp", "", "template <class T> T f(T a) {\n  return g<T>(a) + 1;\n}\n", ""},
		{"csharp", "class A {\n", "  int F(int x) {\n    return x + 1;\n  }\n", "}\n"},
		{"ruby", "", "def f(x)\n  x.map { |a| a + 1 }\nend\n", ""},
		{"php", "<?php\n", "function f($a) {\n  return \"x{$a}\";\n}\n", ""},
		{"go", "package a\n\nimport \"fmt\"\n", "var _ = fmt.Sprint(\n\t1,\n)\n", ""},
	} {
		half := strings.Repeat(c.lines, 500/strings.Count(c.lines, "\n"))
		for name, code := range map[string]string{
			"good": c.begin + half + half + c.end, "bad": c.begin + half + ")(\n" + half + c.end,
		} {
			b.Run(c.language+"/"+name, func(b *testing.B) {
				v := newVerifier(b, "verify-worker")
				v.Verify(b.Context(), c.language, code)
				worker := childProcess()
				var times, cpuTimes []time.Duration
				for b.Loop() {
					start, before := time.Now(), worker.cpu()
					if got := v.Verify(b.Context(), c.language, code); (got.Verdict == protocol.Verified) != (name == "good") {
						b.Fatalf("%+v", got)
					}
					times, cpuTimes = append(times, time.Since(start)), append(cpuTimes, worker.cpu()-before)
				}
				b.ReportMetric(p95(times), "p95-ms")
				if worker != "" {
					b.ReportMetric(p95(cpuTimes), "p95-cpu-ms")
					b.ReportMetric(worker.peak(), "peak-MiB")
				}
			})
		}
	}
}

// p95 returns the 95th percentile in milliseconds.
func p95(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)*95/100].Microseconds()) / 1000
}

// procDir is the folder of a process below /proc; "" if it is not known.
type procDir string

// childProcess returns the only child of this process.
func childProcess() procDir {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		if raw, _ := os.ReadFile(list); len(strings.Fields(string(raw))) > 0 {
			return procDir("/proc/" + strings.Fields(string(raw))[0])
		}
	}
	return ""
}

// cpu returns the CPU time of the threads that the process has.
func (p procDir) cpu() (sum time.Duration) {
	threads, _ := filepath.Glob(string(p) + "/task/*/schedstat")
	for _, thread := range threads {
		raw, _ := os.ReadFile(thread)
		var spent time.Duration
		_, _ = fmt.Sscan(string(raw), &spent)
		sum += spent
	}
	return sum
}

// peak returns the most memory that the process has had resident, in MiB.
func (p procDir) peak() float64 {
	raw, _ := os.ReadFile(string(p) + "/status")
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib)
	return kib / 1024
}
