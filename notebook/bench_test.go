package notebook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/notebook/store/storetest"
)

// BenchmarkHundredQuestions measures a poll that returns 100 open questions about ten sources
// of 2 KiB, each with an answered question before.
func BenchmarkHundredQuestions(b *testing.B) {
	for name, openBooks := range map[string]func(testing.TB) *storetest.Books{
		"sqlite": storetest.Open, "postgres": storetest.OpenPostgres,
	} {
		b.Run(name, func(b *testing.B) {
			d := open(b, openBooks(b))
			ada := d.agent("ada")
			for i := range 10 {
				source := ada.save(strings.Repeat("x := 1\n", 300))
				must(b, answer(ada, d.ask(source.ID, "Why?").ID, strings.Repeat("So. ", 100)))
				for n := range 10 {
					d.ask(source.ID, fmt.Sprint("And why is it not ", i, " or ", n, "?"))
				}
			}
			ada.poll() // marks them delivered
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				if n := len(ada.poll()); n != 100 {
					b.Fatalf("%d questions", n)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		})
	}
}
