package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"":                                    `[{ [""]}]`,
		"list":                                `[{list [""]}]`,
		" LIST  src ":                         `[{list ["src"]}]`,
		"list the files":                      `[{ ["list the files"]}]`,
		"read a file.txt":                     `[{read ["a file.txt"]}]`,
		"write a.txt: b: c":                   `[{write ["a.txt" "b: c"]}]`,
		"write a.txt:":                        `[{write ["a.txt" ""]}]`,
		"write a haiku":                       `[{ ["write a haiku"]}]`,
		"slow 3":                              `[{slow ["3"]}]`,
		"slow down":                           `[{ ["slow down"]}]`,
		"failure":                             `[{ ["failure"]}]`,
		"list then read a then help":          `[{list [""]} {read ["a"]} {help []}]`,
		"list\r\n\r\nhelp\n":                  `[{list [""]} {help []}]`,
		"write a: one\ntwo\n\nthree\nread a":  `[{write ["a" "one\ntwo\n\nthree"]} {read ["a"]}]`,
		"write a:\none\ntwo":                  `[{write ["a" "one\ntwo"]}]`,
		"run if true; then echo a; fi":        `[{run ["if true; then echo a; fi"]}]`,
		"run echo a then run echo b":          `[{run ["echo a"]} {run ["echo b"]}]`,
		"ask And then what?":                  `[{ask ["And then what?"]}]`,
		"read a\nand tell me":                 `[{read ["a"]} { ["and tell me"]}]`,
		"good morning\nhow are you\nlist":     `[{ ["good morning\nhow are you"]} {list [""]}]`,
		"what is in a then list":              `[{ ["what is in a"]} {list [""]}]`,
		"list then ask Why? then slow 2\nbye": `[{list [""]} {ask ["Why?"]} {slow ["2"]} { ["bye"]}]`,
	} {
		var steps []string
		for _, s := range parse(prompt) {
			steps = append(steps, fmt.Sprintf("{%s %q}", s.verb, s.args))
		}
		if got := "[" + strings.Join(steps, " ") + "]"; got != want {
			t.Errorf("%q: got %s, want %s", prompt, got, want)
		}
	}
}

func TestEveryCommandOfTheHelpIsUnderstood(t *testing.T) {
	t.Parallel()
	values := strings.NewReplacer("[PATH]", "src", "PATH", "a.txt", "TEXT", "hello", "COMMAND", "ls", "QUESTION",
		"Why?", "N", "5")
	for _, c := range Commands() {
		usage := values.Replace(c.Usage)
		if steps := parse(usage); len(steps) != 1 || !strings.HasPrefix(c.Usage, steps[0].verb) || steps[0].verb == other ||
			c.Help == "" {
			t.Errorf("%s is read as %v", usage, steps)
		}
	}
}

func TestPromptsAreParsedInLinearTime(t *testing.T) {
	t.Parallel()
	parse("write a: " + strings.Repeat("x then ", 100_000)) // takes minutes if the time is quadratic
	parse(strings.Repeat("list\n", 100_000))
}

func TestSplitKeepsTheTextInAtLeastFourPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		pieces := split(text)
		if strings.Join(pieces, "") != text {
			t.Fatalf("%q became %q", text, pieces)
		}
		if want := min(minPieces, utf8.RuneCountInString(text)); len(pieces) < want || len(pieces) > maxPieces {
			t.Fatalf("%q became %d pieces", text, len(pieces))
		}
		for _, piece := range pieces {
			if piece == "" {
				t.Fatalf("an empty piece in %q", pieces)
			}
		}
	})
}
