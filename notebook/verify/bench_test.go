package verify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// BenchmarkThousandLines measures a check of 1,000 lines by a worker process that is warm, and of
// the same lines with an error in the middle.
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
		for name, code := range map[string]string{"good": c.begin + half + half + c.end, "bad": c.begin + half + ")(\n" + half + c.end} {
			b.Run(c.language+"/"+name, func(b *testing.B) {
				v := newVerifier(b, "verify-worker")
				v.Verify(b.Context(), c.language, code)
				var times []time.Duration
				for b.Loop() {
					start := time.Now()
					if got := v.Verify(b.Context(), c.language, code); (got.Verdict == protocol.Verified) != (name == "good") {
						b.Fatalf("%+v", got)
					}
					times = append(times, time.Since(start))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			})
		}
	}
}
