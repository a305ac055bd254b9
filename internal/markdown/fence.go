package markdown

import "strings"

// Fence returns a text as fenced code that ends with a line feed. The fence is longer than every run of backticks
// in the text, so the text cannot close it. info names the language; other than short words are left out.
func Fence(info, text string) string {
	text = Plain(text)
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	if !isWord(info) {
		info = ""
	}
	return fence + info + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

func isWord(info string) bool {
	return len(info) <= 20 && !strings.ContainsFunc(info, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '+'
	})
}

func longestRun(text string, of rune) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
