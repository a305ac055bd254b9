package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// row of a table. beside is the yardstick of the same run, ratio the figure's
// share of it, bound what keeps the figure from being better.
type row struct {
	what, figure, beside, ratio, bound string
}

type table struct {
	name string
	rows []row
}

func (t table) markdown() string { return "\n### " + titles[t.name] + "\n\n" + t.rowsMarkdown() }

func (t table) rowsMarkdown() string {
	var b strings.Builder
	b.WriteString("| what | figure | beside | ratio (least–most) | bounded by |\n|---|---|---|---|---|\n")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.what, r.figure, orDash(r.beside), orDash(r.ratio), orDash(r.bound))
	}
	return b.String()
}

var titles = map[string]string{
	"ingest":     "Webhook ingest (PostgreSQL)",
	"checkin":    "Check-in",
	"stream":     "Streams",
	"latency":    "From the agent to database and browser",
	"idle":       "Idle sessions",
	"headless":   "Headless interface",
	"policy":     "Policy",
	"agents":     "Agents",
	"deliveries": "Outbound webhooks (PostgreSQL)",
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// brief is a duration with three digits.
func brief(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	default:
		return digits(d.Seconds()) + " s"
	}
}

// kib is a number of bytes in KiB.
func kib(bytes float64) string { return digits(bytes/1024) + " KiB" }

// digits are three, or all before the point.
func digits(v float64) string {
	if v >= 1000 || v <= -1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func minOf(v []float64) float64 { return slices.Min(v) }
func maxOf(v []float64) float64 { return slices.Max(v) }

// ratioOf is a median with the least and the most.
func ratioOf(v []float64) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(v), minOf(v), maxOf(v))
}
