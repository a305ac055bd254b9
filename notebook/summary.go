package notebook

import (
	"fmt"
	"strings"

	"bellhop/protocol"
)

// showVerification returns a verification with its sentence.
func showVerification(v *protocol.Verification) *protocol.Verification {
	if v == nil {
		return nil
	}
	shown := *v
	shown.Summary = summary(&shown)
	return &shown
}

// summary says in a sentence the result and, of code that was not checked, the reason.
func summary(v *protocol.Verification) string {
	tool := strings.TrimSpace(v.Tool + " " + v.ToolVersion)
	var errs, warnings int
	var first *protocol.Diagnostic
	for i := range v.Diagnostics {
		if v.Diagnostics[i].Severity != "error" {
			warnings++
			continue
		}
		if errs++; first == nil {
			first = &v.Diagnostics[i]
		}
	}
	var text string
	switch v.Verdict {
	case protocol.Verified:
		text = fmt.Sprintf("Checked: this %s %s (%s)%s.", v.Language, v.Claim, tool, withWarnings(warnings))
	case protocol.VerifyFailed:
		text = fmt.Sprintf("Failed: %s found %s in this %s%s.", tool, count(errs, "error"), v.Language, place(first))
	default:
		if text = "Not checked"; v.Reason != "" {
			text += ": " + v.Reason
		}
		return text + withWarnings(warnings) + "."
	}
	if v.Reason != "" {
		text += " " + v.Reason + "."
	}
	return text + " It was read, not run."
}

func withWarnings(n int) string {
	if n == 0 {
		return ""
	}
	return ", with " + count(n, "warning")
}

func place(d *protocol.Diagnostic) string {
	if d == nil || d.Line == 0 {
		return ""
	}
	return fmt.Sprintf(", first at line %d, column %d", d.Line, d.Column)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
