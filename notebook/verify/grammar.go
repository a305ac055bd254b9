package verify

import (
	"context"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bellhop/notebook/verify/treesitter"
	"bellhop/protocol"
)

// tolerant languages give every text a meaning: a check of theirs finds only warnings.
var tolerant = map[string]string{
	"html":     "HTML gives every text a meaning, so no text is wrong",
	"css":      "CSS skips what it does not know, so no text is wrong",
	"markdown": "Markdown gives every text a meaning, so no text is wrong",
}

var extras = map[string]treesitter.Extra{"markdown": treesitter.Fences, "python": treesitter.Python}

// prefixes come before code that is a fragment without them.
var prefixes = map[string]string{"php": "<?php "}

func prefixOf(language, code string) string {
	if strings.Contains(code, "<?") {
		return ""
	}
	return prefixes[language]
}

// grammarCheck is one check of a piece of code.
type grammarCheck struct {
	module *treesitter.Module
	number uint32
	extra  treesitter.Extra
	code   string
}

// checkGrammar parses code with tree-sitter's grammar of a language.
func (w *worker) checkGrammar(ctx context.Context, language, code string) finding {
	grammar, number, _ := treesitter.Find(language)
	found := finding{Tool: grammar.Package, Version: grammar.Version}
	prefix := prefixOf(language, code)
	c := &grammarCheck{module: w.grammars, number: number, extra: extras[language], code: prefix + code}
	result, err := c.parse(ctx)
	known, doubt := dialects[language], ""
	if err == nil && hasErrors(result) {
		result, doubt, err = c.again(ctx, known, result)
	}
	if err != nil {
		return unsupported("The parser ran out of memory: the code is too complex for it")
	}
	if doubt != "" && !hasErrors(result) {
		found.Unsupported = true
		found.Reason = "The grammar of " + grammar.Package + " " + grammar.Version + " reports an error, but does not know " + doubt
		return found
	}
	found.Diagnostics = c.diagnose(ctx, result)
	for i := range found.Diagnostics {
		if found.Diagnostics[i].Line == 1 {
			found.Diagnostics[i].Column = max(1, found.Diagnostics[i].Column-len(prefix))
		}
	}
	if known.macros && len(found.Diagnostics) > 0 && strings.Contains(code, "#") {
		found.Diagnostics[0].Message += " (macros are not expanded)"
	}
	return found
}

func (c *grammarCheck) parse(ctx context.Context) (treesitter.Result, error) {
	return c.module.Parse(ctx, c.number, c.code, c.extra)
}

// diagnose writes the findings as diagnostics. The first error is placed where the parser could
// not continue, because the tree's error node often begins much earlier.
func (c *grammarCheck) diagnose(ctx context.Context, result treesitter.Result) []protocol.Diagnostic {
	var all []protocol.Diagnostic
	reached := -1
	for _, f := range result.Findings {
		start, message, severity := f.Start, "", severityError
		switch f.Kind {
		case treesitter.UnclosedFence:
			message, severity = "this code block is not closed", severityWarning
		case treesitter.EmptyBlock:
			message = "expected an indented block"
		case treesitter.OldStatement:
			message = "a statement of Python 2, which Python 3 does not have"
		case treesitter.Indent:
			message = "the indentation differs from that of the statements before"
		case treesitter.Missing:
			start, message = endBefore(c.code, f.Start), "missing "+quote(f.Token)
		case treesitter.Unexpected:
			if reached < 0 && result.ErrorRow >= 0 {
				start, message = c.unexpected(ctx, result)
			} else {
				message = "unexpected " + c.tokenAt(start)
			}
		}
		if start <= reached {
			continue
		}
		reached = start
		line, column := position(c.code, start)
		all = append(all, protocol.Diagnostic{
			Line: line, Column: column, Message: protocol.SanitizeText(message), Severity: severity,
		})
	}
	return all
}

// unexpected returns the place and the words for the first error. If a token that begins a line is
// unexpected, the line before may lack its end: the error is there if the parser gets further with it.
func (c *grammarCheck) unexpected(ctx context.Context, result treesitter.Result) (start int, message string) {
	const probed = 128 << 10 // larger code would take too long
	start = tokenAfter(c.code, result.ErrorRow, result.ErrorCol)
	if before := endBefore(c.code, start); len(c.code) <= probed && strings.Contains(c.code[before:start], "\n") {
		for _, token := range [...]string{";", ":", ")", "]", "}"} {
			if c.getsFurther(ctx, c.code[:before]+token+c.code[before:], start+len(token)) {
				return before, "missing " + quote(token)
			}
		}
	}
	return start, "unexpected " + c.tokenAt(start)
}

// getsFurther reports whether the parser gets further than offset in other code.
func (c *grammarCheck) getsFurther(ctx context.Context, code string, offset int) bool {
	row, column, err := c.module.FirstError(ctx, c.number, code)
	return err == nil && (row < 0 || tokenAfter(code, row, column) > offset)
}

// endBefore returns the end of the text before an offset, without spaces.
func endBefore(code string, offset int) int {
	return len(strings.TrimRightFunc(code[:min(offset, len(code))], unicode.IsSpace))
}

// tokenAfter returns the offset of the token at which the parser could not continue.
func tokenAfter(code string, row, column int) int {
	offset := 0
	for range row {
		next := strings.IndexByte(code[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	rest := strings.TrimLeftFunc(code[min(offset+column, len(code)):], unicode.IsSpace)
	if rest == "" { // the end: right after the last token
		return endBefore(code, len(code))
	}
	return len(code) - len(rest)
}

const longestToken = 24

// tokenAt quotes the word or the character at an offset.
func (c *grammarCheck) tokenAt(offset int) string {
	rest := strings.TrimSpace(c.code[offset:])
	if rest == "" {
		return "end of the code"
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		_, end = utf8.DecodeRuneInString(rest)
	}
	return strconv.Quote(strings.ToValidUTF8(rest[:min(end, longestToken)], ""))
}

// quote quotes a sign; a word names a kind of token and stays as it is.
func quote(token string) string {
	if strings.IndexFunc(token, unicode.IsLetter) == 0 {
		return token
	}
	return strconv.Quote(token)
}
