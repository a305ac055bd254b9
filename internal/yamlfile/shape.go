package yamlfile

import "github.com/goccy/go-yaml/token"

// Bounds of a file. The parser recurses for every level and for every key of a mapping, and a
// stack that is exhausted ends the process.
const (
	maxDepth = 100
	maxKeys  = 5000 // of one mapping in block style
)

// level is a mapping or sequence in block style that is still open.
type level struct{ column, keys int }

// shape follows the nesting of tokens.
type shape struct {
	flow   int
	levels []level
}

// checkShape refuses tokens that exceed the bounds, and what no file needs: tags and explicit keys.
func checkShape(tokens token.Tokens) error {
	var s shape
	for _, t := range tokens {
		line := t.Position.Line
		switch t.Type {
		case token.InvalidType:
			return nil // the parser refuses it before it recurses
		case token.TagType:
			return errorAt(line, "tags are not supported (%s)", t.Value)
		case token.MappingKeyType:
			return errorAt(line, "keys with a question mark are not supported")
		}
		if err := s.add(t); err != nil {
			return err
		}
		if s.flow+len(s.levels) > maxDepth {
			return errorAt(line, "more than %d levels", maxDepth)
		}
		if n := len(s.levels); n > 0 && s.levels[n-1].keys > maxKeys {
			return errorAt(line, "a mapping has more than %d keys", maxKeys)
		}
	}
	return nil
}

func (s *shape) add(t *token.Token) error {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		s.flow++
	case token.MappingEndType, token.SequenceEndType:
		s.flow--
	case token.SequenceEntryType:
		s.open(t.Position.Column, 0)
	case token.MappingValueType:
		switch {
		case s.flow > 0:
		case t.Prev == nil || t.Prev.Position.Line != t.Position.Line:
			return errorAt(t.Position.Line, "a key must be a text on the line of its colon")
		default:
			s.open(t.Prev.Position.Column, 1)
		}
		return checkColon(t)
	}
	return nil
}

// open enters the level of a column and leaves those that are further to the right.
func (s *shape) open(column, keys int) {
	n := len(s.levels)
	for n > 0 && s.levels[n-1].column > column {
		n--
	}
	s.levels = s.levels[:n]
	if n == 0 || s.levels[n-1].column < column {
		s.levels = append(s.levels, level{column: column})
		n++
	}
	s.levels[n-1].keys += keys
}
