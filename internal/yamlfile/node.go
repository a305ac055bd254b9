package yamlfile

import "fmt"

// Kind is the form of a Node.
type Kind int

// The kinds of nodes. An Alias stands for a node with an anchor.
const (
	Scalar Kind = iota + 1
	Sequence
	Mapping
	Alias
)

// Node is a part of a YAML document.
type Node struct {
	Kind    Kind
	Value   string  // of a Scalar: its text without quotes
	Content []*Node // of a Sequence: its entries; of a Mapping: keys and values by turns
	Line    int     // where it begins, from 1

	target  *Node // of an Alias
	size    int   // number of nodes, with those that aliases stand for
	isNull  bool
	isBool  bool
	isMerge bool // the key <<
}

// Member returns the value of a mapping's key, nil if there is none.
func (n *Node) Member(key string) *Node {
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
func (n *Node) resolve() *Node {
	if n.Kind == Alias {
		return n.target
	}
	return n
}

func (n *Node) errorf(format string, args ...any) error { return errorAt(n.Line, format, args...) }

func errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}
