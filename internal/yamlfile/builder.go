package yamlfile

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxNodes is the largest number of nodes with those that aliases stand for: a short file of
// nested aliases can stand for billions.
const maxNodes = 1 << 20

// builder makes nodes of the parser's tree.
type builder struct {
	anchors map[string]*Node
	flow    int // number of open brackets and braces
	source  source
}

func (b *builder) node(from ast.Node) (*Node, error) {
	n, err := b.build(from)
	if err != nil {
		return nil, err
	}
	n.size++
	for _, c := range n.Content {
		n.size += c.size
	}
	if n.size > maxNodes {
		return nil, n.errorf("the aliases stand for more than %d values", maxNodes)
	}
	return n, nil
}

func (b *builder) build(from ast.Node) (*Node, error) {
	switch from := from.(type) {
	case *ast.MappingNode:
		return b.mapping(from)
	case *ast.SequenceNode:
		return b.sequence(from)
	case *ast.AnchorNode:
		return b.anchored(from)
	case *ast.AliasNode:
		return b.alias(from)
	case *ast.MappingKeyNode:
		return b.build(from.Value)
	case *ast.LiteralNode:
		return block(from)
	case *ast.StringNode:
		return b.text(from)
	case *ast.MergeKeyNode:
		return merge(from)
	case ast.ScalarNode:
		return scalar(from), nil
	}
	return nil, errorAt(lineOf(from), "this is not supported")
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

func (b *builder) anchored(from *ast.AnchorNode) (*Node, error) {
	name := from.Name.GetToken().Value
	if !anchor.MatchString(name) {
		return nil, errorAt(lineOf(from), "%q is not the name of an anchor", name)
	}
	n, err := b.build(from.Value)
	b.anchors[name] = n
	return n, err
}

func merge(from *ast.MergeKeyNode) (*Node, error) {
	n := scalar(from)
	n.isMerge = true
	if origin := strings.TrimSpace(from.Token.Origin); origin != "<<" {
		return nil, n.errorf("the key %q needs quotes", origin)
	}
	return n, nil
}

func block(from *ast.LiteralNode) (*Node, error) {
	line := from.Start.Position.Line
	if !header.MatchString(from.Start.Value) {
		return nil, errorAt(line, "a block of text begins with %q", from.Start.Value)
	}
	return &Node{Kind: Scalar, Value: from.Value.Value, Line: line}, nil
}

func (b *builder) text(from *ast.StringNode) (*Node, error) {
	n := &Node{Kind: Scalar, Value: from.Value, Line: lineOf(from)}
	switch from.Token.Type {
	case token.StringType:
		return n, checkPlain(from.Value, from.Token.Origin, b.flow > 0, n.Line)
	case token.DoubleQuoteType:
		if strings.Contains(from.Token.Origin, `\`) {
			return n, checkEscapes(from.Value, b.source.from(from.Token.Position), n.Line)
		}
	}
	return n, nil
}

func scalar(from ast.ScalarNode) *Node {
	n := &Node{Kind: Scalar, Line: lineOf(from), Value: from.GetToken().Value}
	switch from := from.(type) {
	case *ast.NullNode:
		n.isNull = true
		if from.Token.Type == token.ImplicitNullType {
			n.Value = ""
		}
	case *ast.BoolNode:
		n.isBool = true
	}
	return n
}

func (b *builder) alias(from *ast.AliasNode) (*Node, error) {
	name := from.Value.GetToken().Value
	target := b.anchors[name]
	if target == nil {
		return nil, errorAt(lineOf(from), "unknown anchor %q", name)
	}
	return &Node{Kind: Alias, Line: lineOf(from), target: target, size: target.size}, nil
}

// checkIndent refuses a value on a line of its own that is not further to the right than its key
// or dash. Only a list may begin below its key.
func (b *builder) checkIndent(owner *token.Position, value ast.Node, isKey bool) error {
	at := value.GetToken().Position
	sequence, isSequence := value.(*ast.SequenceNode)
	mapping, isMapping := value.(*ast.MappingNode)
	switch {
	case b.flow > 0, isKey && isSequence && !sequence.IsFlowStyle && at.Column == owner.Column:
		return nil
	case isMapping && !mapping.IsFlowStyle && len(mapping.Values) > 0:
		at = mapping.Values[0].Key.GetToken().Position
	}
	if at.Line > owner.Line && at.Column <= owner.Column {
		return errorAt(at.Line, "a value must be indented more than its key")
	}
	return nil
}

func (b *builder) sequence(from *ast.SequenceNode) (*Node, error) {
	if from.IsFlowStyle {
		b.flow++
		defer func() { b.flow-- }()
	}
	n := &Node{Kind: Sequence, Line: from.Start.Position.Line, Content: make([]*Node, 0, len(from.Values))}
	for _, value := range from.Values {
		entry, err := b.node(value)
		if err == nil {
			err = b.checkIndent(from.Start.Position, value, false)
		}
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, entry)
	}
	return n, nil
}

func (b *builder) mapping(from *ast.MappingNode) (*Node, error) {
	if from.IsFlowStyle {
		b.flow++
		defer func() { b.flow-- }()
	}
	n := &Node{Kind: Mapping, Line: from.Start.Position.Line, Content: make([]*Node, 0, 2*len(from.Values))}
	seen := make(map[string]bool, len(from.Values))
	for _, member := range from.Values {
		key, err := b.node(member.Key)
		if err != nil {
			return nil, err
		}
		if len(n.Content) == 0 && !from.IsFlowStyle {
			n.Line = key.Line
		}
		if key.Kind != Scalar || key.isNull {
			return nil, key.errorf("a key must be a text")
		}
		if seen[key.Value] {
			return nil, key.errorf("%q is repeated", key.Value)
		}
		seen[key.Value] = true
		value, err := b.node(member.Value)
		if err == nil {
			err = b.checkIndent(member.Key.GetToken().Position, member.Value, true)
		}
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, key, value)
	}
	return n, nil
}
