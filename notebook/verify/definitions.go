package verify

import (
	"strings"

	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"bellhop/protocol"
)

const (
	hclModule      = "github.com/hashicorp/hcl/v2"
	protobufModule = "github.com/bufbuild/protocompile"
)

func checkHCL(code string) finding {
	found := finding{Tool: hclModule, Version: moduleVersion(hclModule)}
	_, diagnostics := hclsyntax.ParseConfig([]byte(code), "", hcl.InitialPos)
	for _, d := range diagnostics {
		severity := severityError
		if d.Severity == hcl.DiagWarning {
			severity = severityWarning
		}
		shown := protocol.Diagnostic{Message: protocol.SanitizeText(d.Summary + ": " + d.Detail), Severity: severity}
		if d.Subject != nil {
			shown.Line, shown.Column = d.Subject.Start.Line, d.Subject.Start.Column
		}
		found.Diagnostics = append(found.Diagnostics, shown)
	}
	return found
}

// checkProtobuf checks syntax and the rules within one file; imports are not resolved.
func checkProtobuf(code string) finding {
	found := finding{Tool: protobufModule, Version: moduleVersion(protobufModule)}
	report := func(severity string) func(reporter.ErrorWithPos) {
		return func(err reporter.ErrorWithPos) {
			at := err.GetPosition()
			found.Diagnostics = append(found.Diagnostics, protocol.Diagnostic{
				Line: at.Line, Column: at.Col, Message: protocol.SanitizeText(err.Unwrap().Error()), Severity: severity,
			})
		}
	}
	errs, warn := report(severityError), report(severityWarning)
	handler := reporter.NewHandler(reporter.NewReporter(func(err reporter.ErrorWithPos) error { errs(err); return nil },
		warn))
	tree, err := parser.Parse("input.proto", strings.NewReader(code), handler)
	if err == nil && tree != nil {
		_, err = parser.ResultFromAST(tree, true, handler)
	}
	if err != nil && len(found.Diagnostics) == 0 {
		found.Diagnostics = problem(0, 0, err.Error())
	}
	return found
}
