package verify

import (
	"encoding/xml"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"

	esbuild "github.com/evanw/esbuild/pkg/api"
	"github.com/goccy/go-yaml"
	yamlparser "github.com/goccy/go-yaml/parser"
	"github.com/pelletier/go-toml/v2"
	"mvdan.cc/sh/v3/syntax"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// checkers run in a worker process. They go before tree-sitter's grammars: they are stricter.
var checkers = map[string]func(code string) finding{
	"javascript": esbuildChecker(esbuild.LoaderJSX), // a superset: modules often contain JSX
	"jsx":        esbuildChecker(esbuild.LoaderJSX),
	"typescript": esbuildChecker(esbuild.LoaderTS),
	"tsx":        esbuildChecker(esbuild.LoaderTSX),
	"css":        esbuildChecker(esbuild.LoaderCSS),
	"shell":      shellChecker(syntax.LangBash),
	"sh":         checkSh,
	"yaml":       checkYAML,
	"toml":       checkTOML,
	"xml":        checkXML,
	"hcl":        checkHCL,
	"protobuf":   checkProtobuf,
	"dockerfile": checkDockerfile,
	"sql":        checkSQL,
}

const (
	esbuildModule = "github.com/evanw/esbuild"
	shellModule   = "mvdan.cc/sh/v3"
	yamlModule    = "github.com/goccy/go-yaml"
	tomlModule    = "github.com/pelletier/go-toml/v2"
)

func esbuildChecker(loader esbuild.Loader) func(string) finding {
	return func(code string) finding {
		found := finding{Tool: esbuildModule, Version: moduleVersion(esbuildModule)}
		result := esbuild.Transform(code, esbuild.TransformOptions{
			Loader: loader, LogLevel: esbuild.LogLevelSilent, LogLimit: maxDiagnostics, Target: esbuild.ESNext,
		})
		found.add(result.Errors, severityError)
		found.add(result.Warnings, severityWarning)
		return found
	}
}

func (f *finding) add(messages []esbuild.Message, severity string) {
	for _, m := range messages {
		d := protocol.Diagnostic{Message: protocol.SanitizeText(m.Text), Severity: severity}
		if m.Location != nil {
			d.Line, d.Column = m.Location.Line, m.Location.Column+1
		}
		f.Diagnostics = append(f.Diagnostics, d)
	}
}

func shellChecker(variant syntax.LangVariant) func(string) finding {
	return func(code string) finding {
		found := finding{Tool: shellModule, Version: moduleVersion(shellModule)}
		_, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(code), "")
		if err == nil {
			return found
		}
		var parse syntax.ParseError
		var lang syntax.LangError
		switch {
		case errors.As(err, &parse):
			found.Diagnostics = problem(int(parse.Pos.Line()), int(parse.Pos.Col()), parse.Text)
		case errors.As(err, &lang) && variant == syntax.LangBash:
			// A subscript such as a[b.c]=1: arithmetic, or any text if a is an associative array.
			found.Unsupported, found.Reason = true, "The parser takes this for "+lang.Feature+", and bash may not"
		case errors.As(err, &lang):
			found.Diagnostics = problem(int(lang.Pos.Line()), int(lang.Pos.Col()),
				lang.Feature+" is not part of this shell's language")
		default:
			found.Diagnostics = problem(0, 0, err.Error())
		}
		return found
	}
}

var otherShell = lazyregexp.New(`\A#!.*\b(bash|ksh)\b`)

// checkSh checks code that was named "sh". People give that name to scripts of any shell. So the first line decides, and
// without one what is not POSIX is a warning if it is bash.
func checkSh(code string) finding {
	bash := shellChecker(syntax.LangBash)
	if otherShell.MatchString(code) {
		return bash(code)
	}
	found := shellChecker(syntax.LangPOSIX)(code)
	if other := bash(code); strings.HasPrefix(code, "#!") || len(found.Diagnostics) == 0 || other.Unsupported ||
		len(other.Diagnostics) > 0 {
		return found
	}
	for i := range found.Diagnostics {
		found.Diagnostics[i].Severity = severityWarning
	}
	found.Reason = "It is a script of bash, and not every sh runs it"
	return found
}

func checkYAML(code string) finding {
	found := finding{Tool: yamlModule, Version: moduleVersion(yamlModule)}
	_, err := yamlparser.ParseBytes([]byte(code), 0)
	var syntaxError yaml.Error
	switch {
	case err == nil:
	case errors.As(err, &syntaxError) && syntaxError.GetToken() != nil && syntaxError.GetToken().Position != nil:
		at := syntaxError.GetToken().Position
		found.Diagnostics = problem(at.Line, at.Column, syntaxError.GetMessage())
	default:
		found.Diagnostics = problem(0, 0, err.Error())
	}
	return found
}

func checkTOML(code string) finding {
	found := finding{Tool: tomlModule, Version: moduleVersion(tomlModule)}
	var into map[string]any
	err := toml.Unmarshal([]byte(code), &into)
	var decode *toml.DecodeError
	switch {
	case err == nil:
	case errors.As(err, &decode):
		line, column := decode.Position()
		found.Diagnostics = problem(line, column, strings.TrimPrefix(decode.Error(), "toml: "))
	default:
		found.Diagnostics = problem(0, 0, err.Error())
	}
	return found
}

var encodingName = lazyregexp.New(`\A[A-Za-z][A-Za-z0-9._-]*\z`)

// asDecoded reads a document as it is, whatever encoding it declares: its bytes were decoded before the text came here.
func asDecoded(encoding string, text io.Reader) (io.Reader, error) {
	if !encodingName.MatchString(encoding) {
		return nil, errors.New("this is no name of an encoding: " + strconv.Quote(encoding))
	}
	return text, nil
}

// checkXML checks well-formedness and that there is exactly one root, which the decoder does
// not.
func checkXML(code string) finding {
	found := finding{Tool: "encoding/xml", Version: runtime.Version()}
	dec := xml.NewDecoder(strings.NewReader(code))
	dec.CharsetReader = asDecoded
	depth, roots := 0, 0
	for {
		token, err := dec.Token()
		line, column := dec.InputPos()
		if errors.Is(err, io.EOF) {
			if roots != 1 {
				found.Diagnostics = problem(line, column, "a document has exactly one root element")
			}
			return found
		}
		if err != nil {
			message := err.Error()
			var bad *xml.SyntaxError
			if errors.As(err, &bad) {
				line, message = bad.Line, bad.Msg
			}
			found.Diagnostics = problem(line, column, message)
			return found
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(token)) != "" {
				found.Diagnostics = problem(line, column, "text outside of the root element")
				return found
			}
		}
	}
}
