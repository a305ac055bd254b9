package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"bellhop/protocol"
)

// screen prints a conversation and removes control characters from the agent's
// text.
type screen struct {
	out   io.Writer
	color bool

	mu       sync.Mutex
	lineOpen bool // the last line has no line end yet
}

const (
	styleBold   = "1"
	styleDim    = "2"
	styleRed    = "31"
	styleGreen  = "32"
	styleYellow = "33"
	styleCyan   = "36"
)

func (s *screen) styled(style, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (s *screen) bold(text string) string { return s.styled(styleBold, text) }
func (s *screen) dim(text string) string  { return s.styled(styleDim, text) }

// line ends the open line, if any, and prints a complete one.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endOpenLine()
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

// prompt prints a question; the user's Enter ends the line.
func (s *screen) prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endOpenLine()
	_, _ = io.WriteString(s.out, s.styled(styleYellow, printable(text)))
}

func (s *screen) writeText(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, text)
	s.lineOpen = !strings.HasSuffix(text, "\n")
}

func (s *screen) endLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endOpenLine()
}

func (s *screen) endOpenLine() {
	if s.lineOpen {
		_, _ = io.WriteString(s.out, "\n")
		s.lineOpen = false
	}
}

func (s *screen) showError(err error) {
	var e *protocol.Error
	if errors.As(err, &e) && e.Hint != "" {
		s.line("%s %s", s.styled(styleRed, printable(err.Error())), s.dim(printable(e.Hint)))
		return
	}
	s.line("%s", s.styled(styleRed, printable(err.Error())))
}

// showPart prints one part of a stream.
func (s *screen) showPart(p *protocol.Part) {
	switch p.Type {
	case protocol.PartTextDelta:
		s.writeText(printable(*p.Text))
	case protocol.PartReasoningDelta:
		s.writeText(s.dim(printable(*p.Text)))
	case protocol.PartTextEnd, protocol.PartReasoningEnd:
		s.endLine()
	case protocol.PartToolCall:
		s.line("%s %s %s", s.styled(styleCyan, "•"), s.bold(printable(p.ToolName)), s.dim(shorten(string(p.Input))))
	case protocol.PartToolResult:
		s.line("  %s", s.dim(shorten(plainText(p.Output))))
	case protocol.PartToolError:
		s.line("  %s", s.styled(styleRed, shorten(plainText(p.Error))))
	case protocol.PartToolOutputDenied:
		s.line("  %s", s.styled(styleRed, "denied"))
	case protocol.PartToolApprovalResponse:
		if p.Approved != nil && *p.Approved {
			s.line("  %s", s.styled(styleGreen, "allowed"))
		}
	case protocol.PartAbort:
		s.line("%s", s.styled(styleYellow, "interrupted"))
	case protocol.PartError:
		s.line("%s", s.styled(styleRed, shorten(plainText(p.Error))))
	case protocol.PartFinish:
		if p.RawFinishReason != "" && p.FinishReason != protocol.FinishStop {
			s.line("%s", s.styled(styleYellow, "ended: "+printable(p.RawFinishReason)))
		}
	}
}

// showMessage prints one message of the history.
func (s *screen) showMessage(m *protocol.Message) {
	switch {
	case m.Role == protocol.RoleUser:
		s.line("%s %s", s.styled(styleYellow, ">"), printable(m.Message))
	case m.Message != "":
		s.line("%s", printable(m.Message))
	}
	for _, artifact := range m.Artifacts {
		var use protocol.ToolUse
		if artifact.Type == protocol.ArtifactToolUse && json.Unmarshal(artifact.Content, &use) == nil {
			s.line("%s %s %s", s.styled(styleCyan, "•"), s.bold(printable(use.ToolName)),
				s.dim(shorten(string(use.Input))+" "+string(use.State)))
		}
	}
}

// plainText returns the text of a JSON string, and other JSON unchanged.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func shorten(text string) string {
	const limit = 400
	text = printable(text)
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}

// printable removes control characters other than line ends and tabs, because an
// agent's output must not control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
