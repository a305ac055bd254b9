package verify

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const jsonModule = "github.com/go-json-experiment/json"

// checkJSON accepts RFC 8259 with unique names. The decoder keeps its own stack of at most 10
// 000 levels.
func checkJSON(code string) finding {
	found := finding{Tool: jsonModule, Version: moduleVersion(jsonModule)}
	dec := jsontext.NewDecoder(strings.NewReader(code))
	err := dec.SkipValue()
	if err == nil {
		if rest := strings.TrimLeft(code[dec.InputOffset():], " \t\r\n"); rest != "" {
			err = &jsontext.SyntacticError{
				ByteOffset: int64(len(code) - len(rest)), Err: errors.New("text after the end of the value"),
			}
		}
	}
	if err == nil {
		return found
	}
	if errors.Is(err, io.EOF) {
		err = &jsontext.SyntacticError{ByteOffset: int64(len(code)), Err: io.ErrUnexpectedEOF}
	}
	found.Diagnostics = problem(0, 0, err.Error())
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		line, column := position(code, int(syntactic.ByteOffset))
		found.Diagnostics = problem(line, column, syntactic.Err.Error())
	}
	return found
}

// position returns the line and column, in bytes, of an offset.
func position(code string, offset int) (line, column int) {
	before := code[:min(max(offset, 0), len(code))]
	line = strings.Count(before, "\n") + 1
	return line, len(before) - (strings.LastIndexByte(before, '\n') + 1) + 1
}
