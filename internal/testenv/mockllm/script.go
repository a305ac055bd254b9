package mockllm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// answer is the script's response to a request.
type answer struct {
	status     int // if not 0, an error
	retryAfter string
	reasoning  []string
	text       []string
	calls      []call
	delay      time.Duration // between pieces
	drop, hang bool
}

// maxResult bounds how much of tool results is repeated.
const maxResult = 80

func (r *Request) answer(delay time.Duration) answer {
	a := answer{delay: delay}
	switch {
	case len(r.tools) == 0:
		a.text = []string{"Mock ", "title"}
	case r.afterResults:
		results := strings.Join(r.Results, " | ")
		a.text = []string{"All ", "done. ", "Tool ", "said: ", results[:min(len(results), maxResult)]}
	case a.exact(r):
	case !a.failing(r.Prompt) && !a.calling(r):
		a.text = []string{"Hello ", "from ", "the ", "mock ", "LLM."}
	}
	return a
}

// exact handles a prompt that begins with CALL: other words in it, such as in code, have no
// meaning.
func (a *answer) exact(r *Request) bool {
	line, ok := strings.CutPrefix(strings.TrimSpace(r.Prompt), "CALL ")
	if !ok {
		return false
	}
	line, _, _ = strings.Cut(line, "\n")
	c := r.named(strings.TrimSpace(line))
	if c == nil {
		return false
	}
	a.calls = []call{*c}
	return true
}

// failing handles the words for errors and delays.
func (a *answer) failing(prompt string) bool {
	for _, status := range []int{400, 401, 429, 500, 529} {
		if _, ok := word(prompt, fmt.Sprintf("FAIL%d", status)); ok {
			a.status = status
			return true
		}
	}
	if _, ok := word(prompt, "HANG"); ok {
		a.hang = true
		return true
	}
	if _, ok := word(prompt, "DROP"); ok {
		a.text, a.drop = []string{"half ", "an "}, true
		return true
	}
	rest, ok := word(prompt, "SLOW")
	if !ok {
		return false
	}
	n, err := strconv.Atoi(first(rest, "100"))
	if err != nil {
		n = 100
	}
	for i := range n {
		a.text = append(a.text, fmt.Sprintf("tick%d ", i))
	}
	a.delay = 100 * time.Millisecond
	return true
}

// calling handles the words for tools and reasoning; false means plain text.
func (a *answer) calling(r *Request) bool {
	if _, ok := word(r.Prompt, "THINK"); ok {
		a.reasoning = []string{"Let me ", "think ", "about it."}
	}
	for _, w := range []struct {
		word   string
		pieces []string
		call   func(rest string) []*call
	}{
		{"WRITE", []string{"I will ", "write ", "the file."}, func(rest string) []*call {
			return []*call{r.write(first(rest, "hello.txt"), "hello from the mock LLM\n")}
		}},
		{"EDIT", []string{"I will ", "change ", "the file."}, func(rest string) []*call {
			f := append(strings.Fields(rest), "README.md", "old", "new")
			return []*call{r.edit(f[0], f[1], f[2])}
		}},
		{"BASH", []string{"Running ", "a command."}, func(rest string) []*call {
			if rest == "" {
				rest = "echo mock-shell-output"
			}
			return []*call{r.shell(rest)}
		}},
		{"TWO", nil, func(string) []*call {
			return []*call{r.write("a.txt", "file a.txt\n"), r.write("b.txt", "file b.txt\n")}
		}},
		{"READ", nil, func(rest string) []*call { return []*call{r.read(first(rest, "README.md"))} }},
		{"CALL", nil, func(rest string) []*call { return []*call{r.named(rest)} }},
		{"ASK", nil, func(string) []*call { return []*call{r.ask()} }},
		{"TODO", nil, func(string) []*call { return []*call{r.plan()} }},
		{"TASK", nil, func(string) []*call { return []*call{r.delegate()} }},
	} {
		rest, ok := word(r.Prompt, w.word)
		if !ok {
			continue
		}
		for _, c := range w.call(rest) {
			if c != nil {
				a.calls = append(a.calls, *c)
			}
		}
		a.text = w.pieces
		if len(a.calls) > 0 || len(a.text) > 0 {
			return true
		}
	}
	return false
}

// word finds an upper-case word and returns the remainder of its line.
func word(prompt, w string) (rest string, ok bool) {
	found := regexp.MustCompile(`(?m)\b` + w + `\b[ \t]*([^\n]*)`).FindStringSubmatch(prompt)
	if found == nil {
		return "", false
	}
	return strings.TrimSpace(found[1]), true
}

func first(rest, otherwise string) string {
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return otherwise
	}
	return strings.Trim(fields[0], "\"'`.,;")
}
