package agent

import (
	"testing"

	"bellhop/protocol"
)

func TestAQuestionHasItsDefault(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]protocol.Line{
		"ask Which floor? [the third]": {Prompt: "Which floor?", Default: "the third"},
		"ask Which floor?":             {Prompt: "Which floor?"},
		"ask [x]":                      {Prompt: "[x]"},
	} {
		c := serve(t, Options{})
		c.input(prompt)
		if got := c.until(protocol.LineAsk); got.Prompt != want.Prompt || got.Default != want.Default {
			t.Errorf("%s: %+v", prompt, got)
		}
		c.ends()
	}
}
