package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"bellhop/agenthost/setup"
)

// progressBar shows an install: one line that changes on a terminal, a line a
// step elsewhere.
type progressBar struct {
	out      io.Writer
	terminal bool
	last     setup.Progress
	shown    string
}

func newProgressBar(out io.Writer) *progressBar {
	file, ok := out.(*os.File)
	return &progressBar{out: out, terminal: ok && term.IsTerminal(int(file.Fd()))}
}

var stepNames = map[setup.Step]string{
	setup.StepDownload: "downloading", setup.StepUnpack: "unpacking",
	setup.StepNPM: "npm fetches its parts", setup.StepCheck: "checking",
}

func (b *progressBar) show(p setup.Progress) {
	fresh := p.Agent != b.last.Agent || p.Step != b.last.Step
	b.last = p
	if !b.terminal {
		if fresh {
			_, _ = fmt.Fprintf(b.out, "%s: %s%s\n", p.Agent, stepNames[p.Step], size(p))
		}
		return
	}
	if line := b.line(p); line != b.shown {
		_, _ = fmt.Fprintf(b.out, "\r\x1b[K%s", line)
		b.shown = line
	}
}

const barWidth = 30

func (b *progressBar) line(p setup.Progress) string {
	if p.Step != setup.StepDownload || p.Total <= 0 {
		return fmt.Sprintf("%s: %s%s", p.Agent, stepNames[p.Step], size(p))
	}
	done := int(min(p.Done, p.Total) * barWidth / p.Total)
	return fmt.Sprintf("%s: [%s%s] %3d %% of %d MB", p.Agent,
		strings.Repeat("#", done), strings.Repeat(".", barWidth-done), p.Done*100/p.Total, megabytes(p.Total))
}

func size(p setup.Progress) string {
	switch {
	case p.Step != setup.StepDownload:
		return ""
	case p.Total > 0:
		return fmt.Sprintf(" %d MB", megabytes(p.Total))
	case p.Done > 0:
		return fmt.Sprintf(" %d MB so far", megabytes(p.Done))
	default:
		return ""
	}
}

func megabytes(n int64) int64 { return (n + 999_999) / 1_000_000 }

// end clears the line, so that what follows begins at its start.
func (b *progressBar) end() {
	if b.shown != "" {
		_, _ = io.WriteString(b.out, "\r\x1b[K")
	}
	b.shown, b.last = "", setup.Progress{}
}
