package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"bellhop/notebook"
	"bellhop/notebook/verify/treesitter"
	"bellhop/protocol"
)

// Options of New. Zero fields get the value in their comment.
type Options struct {
	// Worker is the command line of "bellhop verify-worker". Without it only languages checked
	// in process are supported.
	Worker  []string
	Workers int // concurrent processes: half of the processors, at least one
	// ProcessorLimit is the processor time of a worker for a request: 2 s. Where the system does
	// not show it, it is the time that passes.
	ProcessorLimit time.Duration
	Limit          time.Duration    // time that passes until a request is given up: 30 s
	Cache          string           // directory of compiled grammars: a temporary one, until Close
	Now            func() time.Time // time.Now
	Log            *slog.Logger     // none
}

// Verifier checks code. It is safe for concurrent use.
type Verifier struct {
	o     Options
	slots chan struct{}
	pool  pool
	// processorTime returns how long a process has run on processors, if the system shows it.
	processorTime func(pid int) (used time.Duration, known bool)

	once      sync.Once
	cacheDir  string
	temporary bool // Close removes cacheDir
}

var _ notebook.Verifier = (*Verifier)(nil)

// New returns a Verifier. It starts processes only for requests and keeps them for the next ones;
// Close ends them.
func New(o Options) *Verifier {
	o.Workers = cmp.Or(o.Workers, max(1, runtime.GOMAXPROCS(0)/2))
	o.ProcessorLimit = cmp.Or(o.ProcessorLimit, requestProcessorLimit)
	o.Limit = cmp.Or(o.Limit, requestLimit)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Verifier{
		o: o, slots: make(chan struct{}, o.Workers), pool: pool{command: o.Worker}, processorTime: processorTime,
	}
}

// Close ends the idle processes and, after its request, each busy one.
func (v *Verifier) Close() {
	v.pool.close()
	v.once.Do(func() {}) // from here on cache makes no directory
	if v.temporary {
		_ = os.RemoveAll(v.cacheDir)
	}
}

// cache returns the directory of compiled grammars. It holds machine code, so only this user may
// write to it. Without one each process compiles the grammars.
func (v *Verifier) cache() string {
	v.once.Do(func() {
		if v.cacheDir = v.o.Cache; v.cacheDir != "" {
			err := private(v.cacheDir)
			if err == nil {
				return
			}
			v.o.Log.Warn("compiled grammars are not kept", "directory", v.cacheDir, "error", err)
		}
		dir, err := os.MkdirTemp("", "bellhop-grammars-")
		if err != nil {
			v.o.Log.Warn("no directory for compiled grammars", "error", err)
		}
		v.cacheDir, v.temporary = dir, err == nil
	})
	return v.cacheDir
}

// private makes a directory, or reports an error if others may write to the one that is there.
func private(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(directory)
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("others may write to it: its mode is %v", info.Mode().Perm())
	}
	return err
}

// finding is the result of a checker.
type finding struct {
	Tool        string                `json:"tool"`
	Version     string                `json:"version"`
	Claim       protocol.Claim        `json:"claim,omitempty"` // of code without errors; empty = it parses
	Unsupported bool                  `json:"unsupported,omitempty"`
	Reason      string                `json:"reason,omitempty"`
	Diagnostics []protocol.Diagnostic `json:"diagnostics"`
	Retire      bool                  `json:"retire,omitempty"` // the process must not get another request
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
		Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}
	found := v.checkText(ctx, name, code)
	if isHeader(language) && !found.Unsupported && verdictOf(found.Diagnostics) == protocol.VerifyFailed {
		if cpp := v.checkText(ctx, "cpp", code); cpp.Unsupported || verdictOf(cpp.Diagnostics) == protocol.Verified {
			name, found, result.Language = "cpp", cpp, "cpp"
		}
	}
	if reason := tolerant[name]; reason != "" && !found.Unsupported {
		found.tolerate(reason)
	}
	result.Tool, result.ToolVersion, result.Reason = found.Tool, found.Version, found.Reason
	if len(found.Diagnostics) > 0 {
		result.Diagnostics = found.Diagnostics[:min(len(found.Diagnostics), maxDiagnostics)]
	}
	if !found.Unsupported {
		result.Verdict = verdictOf(found.Diagnostics)
	}
	if result.Verdict == protocol.Verified {
		now := v.o.Now().UTC().Truncate(time.Microsecond)
		result.Claim, result.VerifiedAt = cmp.Or(found.Claim, protocol.ClaimParses), &now
	}
	return result
}

// tolerate turns errors into warnings and claims nothing, for languages in which no text is
// wrong. reason says why.
func (f *finding) tolerate(reason string) {
	f.Unsupported, f.Reason = true, reason
	for i := range f.Diagnostics {
		f.Diagnostics[i].Severity = severityWarning
	}
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

const byteOrderMark = "\uFEFF"

// checkText checks code without the byte order mark that some editors write before it. In a shell script it stays: there
// it would be a part of the first command.
func (v *Verifier) checkText(ctx context.Context, language, code string) finding {
	text, marked := strings.CutPrefix(code, byteOrderMark)
	if !marked || language == "shell" || language == "sh" {
		return v.check(ctx, language, code)
	}
	found := v.check(ctx, language, text)
	for i := range found.Diagnostics {
		if found.Diagnostics[i].Line == 1 {
			found.Diagnostics[i].Column += len(byteOrderMark)
		}
	}
	return found
}

func (v *Verifier) check(ctx context.Context, language, code string) finding {
	_, _, hasGrammar := treesitter.Find(language)
	switch {
	case len(code) > notebook.MaxCode:
		return unsupported("The code is larger than 512 KiB")
	case language == "go":
		return v.golang(ctx, code)
	case language == "json":
		return checkJSON(code)
	case checkers[language] != nil, hasGrammar:
		return v.child(ctx, language, code)
	case language == Unknown:
		return unsupported("No language was named, and none was recognised")
	default:
		return unsupported("There is no checker for " + language)
	}
}

// problem returns one error, as the list of a finding.
func problem(line, column int, message string) []protocol.Diagnostic {
	return []protocol.Diagnostic{
		{Line: line, Column: column, Message: protocol.SanitizeText(message), Severity: severityError},
	}
}
