package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"bellhop/agenthost/setup"
)

// progressBar shows the progress of an installation: on a terminal one line that
// changes, elsewhere one line for each step.
type progressBar struct {
	out      io.Writer
	terminal bool
	last     setup.Progress
	lastLine string
}

func newProgressBar(out io.Writer) *progressBar {
	file, ok := out.(*os.File)
	return &progressBar{out: out, terminal: ok && term.IsTerminal(int(file.Fd()))}
}

var stepLabels = map[setup.Step]string{
	setup.StepDownload: "downloading", setup.StepUnpack: "unpacking",
	setup.StepWait: "waiting for another installation",
	setup.StepNPM:  "npm fetches its parts", setup.StepCheck: "checking",
}

func (b *progressBar) update(p setup.Progress) {
	isNewStep := p.Agent != b.last.Agent || p.Step != b.last.Step
	b.last = p
	if !b.terminal {
		if isNewStep {
			_, _ = fmt.Fprintf(b.out, "%s: %s%s\n", p.Agent, stepLabels[p.Step], formatSize(p))
		}
		return
	}
	if line := b.formatLine(p); line != b.lastLine {
		_, _ = fmt.Fprintf(b.out, "\r\x1b[K%s", line)
		b.lastLine = line
	}
}

const barWidth = 30

func (b *progressBar) formatLine(p setup.Progress) string {
	if p.Step != setup.StepDownload || p.Total <= 0 {
		return fmt.Sprintf("%s: %s%s", p.Agent, stepLabels[p.Step], formatSize(p))
	}
	done := int(min(p.Done, p.Total) * barWidth / p.Total)
	return fmt.Sprintf("%s: [%s%s] %3d %% of %d MB", p.Agent,
		strings.Repeat("#", done), strings.Repeat(".", barWidth-done), p.Done*100/p.Total, megabytes(p.Total))
}

func formatSize(p setup.Progress) string {
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

// clear erases the line, so that later output starts at its beginning.
func (b *progressBar) clear() {
	if b.lastLine != "" {
		_, _ = io.WriteString(b.out, "\r\x1b[K")
	}
	b.lastLine, b.last = "", setup.Progress{}
}
