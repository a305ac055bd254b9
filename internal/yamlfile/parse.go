package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSize is the largest file in bytes.
const MaxSize = 1 << 20

// Bounds of a document. A short file of nested aliases can stand for billions of nodes.
const (
	maxDepth = 100
	maxNodes = 1 << 20
)

// Node is a part of a document.
type Node = yaml.Node

// The kinds of nodes.
const (
	Scalar   = yaml.ScalarNode
	Sequence = yaml.SequenceNode
	Mapping  = yaml.MappingNode
	Alias    = yaml.AliasNode
)

// Parse returns the root of the only document of content, or nil if content is empty.
func Parse(content []byte) (*Node, error) {
	if len(content) > MaxSize {
		return nil, fmt.Errorf("is longer than %d bytes", MaxSize)
	}
	if err := checkText(content); err != nil {
		return nil, err
	}
	source := &lines{content: content}
	decoder := yaml.NewDecoder(source)
	var document, second Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, source.fail(err)
	}
	root := document.Content[0]
	if err := decoder.Decode(&second); err == nil {
		return nil, errorAt(second.Line, "a second document begins here")
	} else if !errors.Is(err, io.EOF) {
		return nil, source.fail(err)
	}
	_, err := measure(root, 0, map[*Node]int{})
	return root, err
}

// checkText refuses what the library's versions of YAML read differently: directives, and characters that are line breaks
// in some.
func checkText(content []byte) error {
	line := 0
	for text := range bytes.Lines(content) {
		line++
		switch {
		case text[0] == '%':
			return errorAt(line, "directives are not supported")
		case bytes.ContainsAny(bytes.TrimSuffix(text, []byte("\r\n")), "\r\u0085\u2028\u2029"):
			return errorAt(line, "a line break that not every program takes for one")
		}
	}
	return nil
}

// lines is a reader that gives one line at a time. The library reads only what it needs, so when it fails, the fault is in
// the last line that it got. Its own errors have the line on which the list or mapping around the fault begins, or none.
type lines struct {
	content []byte
	at      int
}

func (l *lines) Read(into []byte) (int, error) {
	rest := l.content[l.at:]
	if len(rest) == 0 {
		return 0, io.EOF
	}
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end+1]
	}
	n := copy(into, rest)
	l.at += n
	return n, nil
}

func (l *lines) fail(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(message, "line "); found {
		_, message, _ = strings.Cut(rest, ": ")
	}
	return errorAt(1+bytes.Count(l.content[:max(l.at-1, 0)], []byte("\n")), "%s", message)
}

// measure checks a node and returns the number of nodes that it stands for. A size of 0 in known is that of a node around
// this one.
func measure(n *Node, depth int, known map[*Node]int) (size int, err error) {
	target := resolve(n)
	if size, found := known[target]; found {
		if size == 0 {
			return 0, errorAt(n.Line, "the anchor %q contains itself", n.Value)
		}
		return size, nil
	}
	if depth > maxDepth {
		return 0, errorAt(n.Line, "more than %d levels", maxDepth)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return 0, errorAt(n.Line, "tags are not supported (%s)", n.Tag)
	}
	known[target], size = 0, 1
	keys := map[string]bool{}
	for i, c := range target.Content {
		if target.Kind == Mapping && i%2 == 0 {
			if err := checkKey(target, i, keys); err != nil {
				return 0, err
			}
		}
		more, err := measure(c, depth+1, known)
		if err != nil {
			return 0, err
		}
		if size += more; size > maxNodes {
			return 0, errorAt(n.Line, "the aliases stand for more than %d values", maxNodes)
		}
	}
	known[target] = size
	return size, nil
}

// checkKey checks the key at an index of a mapping.
func checkKey(mapping *Node, i int, before map[string]bool) error {
	key, value := mapping.Content[i], mapping.Content[i+1]
	switch {
	case key.Kind != Scalar || isNull(key):
		return errorAt(key.Line, "a key must be a text")
	case before[key.Value]:
		return errorAt(key.Line, "%q is repeated", key.Value)
	case key.Style == 0 && strings.Contains(key.Value, ":") && isNull(value) && value.Value == "":
		return errorAt(key.Line, "a colon between a key and its value needs a space after it")
	}
	before[key.Value] = true
	return nil
}

// Member returns the value of a mapping's key, nil if there is none.
func Member(n *Node, key string) *Node {
	if n == nil || n.Kind != Mapping {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// resolve returns the node that an alias stands for.
func resolve(n *Node) *Node {
	if n.Kind == Alias {
		return n.Alias
	}
	return n
}

func isNull(n *Node) bool { return n.Kind == Scalar && n.ShortTag() == "!!null" }

func errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}
