package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// MaxSize is the largest file in bytes.
const MaxSize = 1 << 20

// Parse returns the root of the only document of content, or nil if content is empty.
func Parse(content []byte) (*Node, error) {
	if len(content) > MaxSize {
		return nil, fmt.Errorf("is longer than %d bytes", MaxSize)
	}
	content = bytes.ReplaceAll(bytes.TrimPrefix(content, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	if err := checkCharacters(content); err != nil {
		return nil, err
	}
	if begun, err := checkDocuments(content); err != nil || !begun {
		return nil, err
	}
	tokens := lexer.Tokenize(string(content))
	if err := checkShape(tokens); err != nil {
		return nil, err
	}
	// The builder refuses repeated keys: the parser's own check has another text.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(err)
	}
	return root(file.Docs, string(content))
}

func syntaxError(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		return err
	}
	message := at.GetMessage()
	if strings.HasPrefix(message, `found character '`+"\t"+`'`) {
		message = "found a tab character that violates indentation"
	}
	return errorAt(at.GetToken().Position.Line, "%s", message)
}

func root(docs []*ast.DocumentNode, text string) (*Node, error) {
	b := builder{anchors: map[string]*Node{}, source: newSource(text)}
	switch {
	case len(docs) > 1:
		return nil, errors.New("has a second document")
	case len(docs) == 0 || docs[0].Body == nil:
		return &Node{Kind: Scalar, Line: 1, size: 1, isNull: true}, nil
	}
	return b.node(docs[0].Body)
}
