//go:build linux

package torture

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"bellhop/internal/torture/check"
)

// script is what the scripted agent does with one prompt. Every event of it follows from the
// prompt alone, so that the checker knows what must exist.
type script struct {
	label string // unique in a round
	steps int
	pause time.Duration // before every step
}

const promptWord = "torture"

// prompt is the text that makes the scripted agent play the script.
func (s script) prompt() string {
	return fmt.Sprintf("%s %s %d %d", promptWord, s.label, s.steps, s.pause.Milliseconds())
}

func parseScript(prompt string) (script, error) {
	words := strings.Fields(prompt)
	if len(words) != 4 || words[0] != promptWord {
		return script{}, fmt.Errorf("the prompt %q is no script", prompt)
	}
	steps, err := strconv.Atoi(words[2])
	if err != nil {
		return script{}, err
	}
	pause, err := strconv.Atoi(words[3])
	if err != nil {
		return script{}, err
	}
	return script{label: words[1], steps: steps, pause: time.Duration(pause) * time.Millisecond}, nil
}

// toolEvery makes every fourth step the use of a tool; the others are texts.
const toolEvery = 4

// step is one text, or one use of a tool if call is not empty.
type step struct {
	text string
	call string
	out  string
}

func (s script) step(n int) step {
	if n%toolEvery == 0 {
		return step{call: fmt.Sprintf("call-%s-%d", s.label, n), out: fmt.Sprintf("%s noted %d", s.label, n)}
	}
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, s.label, n)
	return step{text: fmt.Sprintf("%s step %d of %d ✓ %s", s.label, n, s.steps, strings.Repeat("öx", int(sum.Sum32()%60)))}
}

// tokens returns what a complete turn says that it used: each text says how far the turn is.
func (s script) tokens() int64 {
	for n := s.steps; n > 0; n-- {
		if s.step(n).call == "" {
			return int64(n)
		}
	}
	return 0
}

// expected returns the contents that a complete turn of the script leaves, in order.
func (s script) expected() []check.Content {
	var all []check.Content
	for n := 1; n <= s.steps; n++ {
		if one := s.step(n); one.call == "" {
			all = append(all, check.Content{Type: check.Text, Text: one.text})
		} else {
			all = append(all,
				check.Content{Type: check.ToolCall, Call: one.call},
				check.Content{Type: check.ToolResult, Call: one.call, Text: one.out})
		}
	}
	return all
}
