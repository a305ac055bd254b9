package notebook

import (
	"testing"

	"bellhop/protocol"
)

// The sentence matches the diagnostics below it.
func TestTheSummaryMatchesTheVerification(t *testing.T) {
	t.Parallel()
	problem := protocol.Diagnostic{Line: 3, Column: 9, Message: "a", Severity: "error"}
	warning := protocol.Diagnostic{Line: 1, Column: 1, Message: "b", Severity: "warning"}
	for want, v := range map[string]protocol.Verification{
		"Checked: this go type-checks (go/types go1.26). It was read, not run.": {
			Language: "go", Verdict: protocol.Verified, Claim: protocol.ClaimTypeChecks, Tool: "go/types", ToolVersion: "go1.26",
		},
		"Checked: this go parses (go/parser go1.26), with 1 warning. Another file is missing. It was read, not run.": {
			Language: "go", Verdict: protocol.Verified, Claim: protocol.ClaimParses, Tool: "go/parser", ToolVersion: "go1.26",
			Reason: "Another file is missing", Diagnostics: []protocol.Diagnostic{warning},
		},
		"Checked: this c parses (t). It was read, not run.": {
			Language: "c", Verdict: protocol.Verified, Claim: protocol.ClaimParses, Tool: "t",
		},
		"Failed: t 1 found 2 errors in this c, first at line 3, column 9. It was read, not run.": {
			Language: "c", Verdict: protocol.VerifyFailed, Tool: "t",
			ToolVersion: "1", Diagnostics: []protocol.Diagnostic{warning, problem, problem},
		},
		"Failed: t found 1 error in this c. It was read, not run.": {
			Language: "c", Verdict: protocol.VerifyFailed,
			Tool: "t", Diagnostics: []protocol.Diagnostic{{Message: "a", Severity: "error"}},
		},
		"Not checked: There is no checker for cobol.": {
			Language: "cobol", Verdict: protocol.VerifyUnsupported, Reason: "There is no checker for cobol",
		},
		"Not checked: No HTML is wrong, with 2 warnings.": {
			Language: "html", Verdict: protocol.VerifyUnsupported, Tool: "t",
			Reason: "No HTML is wrong", Diagnostics: []protocol.Diagnostic{warning, warning},
		},
		"Not checked.": {Language: "x", Verdict: protocol.VerifyUnsupported},
	} {
		if shown := showVerification(&v); shown.Summary != want {
			t.Errorf("%q\nwant %q", shown.Summary, want)
		}
	}
	if showVerification(nil) != nil {
		t.Error("a version without verification has one")
	}
}
