package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"runtime"
	"time"

	"bellhop/notebook"
	"bellhop/protocol"
)

// Options of New. Zero fields get the value in their comment.
type Options struct {
	// Worker is the command line of "bellhop verify-worker". Without it only languages checked
	// in process are supported.
	Worker  []string
	Workers int              // concurrent children: half of the processors, at least one
	Limit   time.Duration    // lifetime of a child: 2 s
	Now     func() time.Time // time.Now
	Log     *slog.Logger     // none
}

// Verifier checks code. It is safe for concurrent use.
type Verifier struct {
	o     Options
	slots chan struct{}
}

var _ notebook.Verifier = (*Verifier)(nil)

// New returns a Verifier. It starts children only for requests.
func New(o Options) *Verifier {
	o.Workers = cmp.Or(o.Workers, max(1, runtime.GOMAXPROCS(0)/2))
	o.Limit = cmp.Or(o.Limit, 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Verifier{o: o, slots: make(chan struct{}, o.Workers)}
}

// finding is the result of a checker.
type finding struct {
	Tool        string                `json:"tool"`
	Version     string                `json:"version"`
	Unsupported bool                  `json:"unsupported,omitempty"`
	Diagnostics []protocol.Diagnostic `json:"diagnostics"`
}

// maxDiagnostics bounds the list: errors after the first few are usually consequences of them.
const maxDiagnostics = 50

// Verify implements notebook.Verifier. It detects the language only if none is named.
func (v *Verifier) Verify(ctx context.Context, language, code string) protocol.Verification {
	name := canonical(language)
	if name == "" {
		name = Detect(code)
	}
	sum := sha256.Sum256([]byte(code))
	result := protocol.Verification{
		Language: name, Verdict: protocol.VerifyUnsupported, Diagnostics: []protocol.Diagnostic{},
		VerifiedAt: v.o.Now().UTC().Truncate(time.Microsecond), Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}
	found := v.check(ctx, name, code)
	result.Tool, result.ToolVersion = found.Tool, found.Version
	if len(found.Diagnostics) > 0 {
		result.Diagnostics = found.Diagnostics[:min(len(found.Diagnostics), maxDiagnostics)]
	}
	if !found.Unsupported {
		result.Verdict = verdictOf(found.Diagnostics)
	}
	return result
}

func verdictOf(diagnostics []protocol.Diagnostic) protocol.Verdict {
	for _, d := range diagnostics {
		if d.Severity == severityError {
			return protocol.VerifyFailed
		}
	}
	return protocol.Verified
}

const (
	severityError   = "error"
	severityWarning = "warning"
)

func (v *Verifier) check(ctx context.Context, language, code string) finding {
	switch {
	case len(code) > notebook.MaxCode:
		return finding{Unsupported: true, Diagnostics: problem(0, 0, "The code is larger than 512 KiB")}
	case language == "go":
		return v.golang(ctx, code)
	case language == "json":
		return checkJSON(code)
	case checkers[language] != nil:
		return v.child(ctx, language, code)
	default:
		return finding{Unsupported: true}
	}
}

func problem(line, column int, message string) []protocol.Diagnostic {
	return []protocol.Diagnostic{{Line: line, Column: column, Message: protocol.SanitizeText(message), Severity: severityError}}
}
