package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"bellhop/notebook"
)

// request is the input that the child reads from stdin.
type request struct {
	Language string `json:"language"`
	Code     string `json:"code"`
}

const (
	memoryLimit = 256 << 20
	softLimit   = 192 << 20 // from here on the garbage collector runs more often
	stackLimit  = 64 << 20  // hostile nesting overflows this before it fills the memory
	maxRequest  = 8 * notebook.MaxCode
	maxFinding  = 256 << 10
)

// Work is the main function of the child: it reads a request, checks the code and writes the
// finding. It needs a process of its own, because deeply nested code can end the process.
func Work(in io.Reader, out io.Writer) error {
	debug.SetMemoryLimit(softLimit)
	debug.SetMaxStack(stackLimit)
	if err := limitMemory(memoryLimit); err != nil {
		return err
	}
	var r request
	if err := json.NewDecoder(io.LimitReader(in, maxRequest)).Decode(&r); err != nil {
		return err
	}
	check := checkers[r.Language]
	if r.Language == goCheck {
		check = checkGoTypes
	}
	if check == nil {
		return errors.New("verify-worker: no checker for " + r.Language)
	}
	found := check(r.Code)
	found.Diagnostics = found.Diagnostics[:min(len(found.Diagnostics), maxDiagnostics)]
	return json.NewEncoder(out).Encode(found)
}

// child runs the check in a child process. If the child was killed, the result is unsupported
// with the reason, since that says nothing about the code.
func (v *Verifier) child(ctx context.Context, language, code string) finding {
	if len(v.o.Worker) == 0 {
		return finding{Unsupported: true}
	}
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return unsupported("The request ended before the code could be checked")
	}
	limited, cancel := context.WithTimeout(ctx, v.o.Limit)
	defer cancel()
	found, err := v.run(limited, request{Language: language, Code: code})
	switch {
	case err == nil:
		return found
	case limited.Err() != nil:
		return unsupported("The checker was ended after its time was over")
	default:
		v.o.Log.WarnContext(ctx, "verify-worker failed", "language", language, "error", err)
		return unsupported("The checker could not finish: the code is too complex for it")
	}
}

func unsupported(why string) finding {
	return finding{Unsupported: true, Diagnostics: problem(0, 0, why)}
}

func (v *Verifier) run(ctx context.Context, r request) (finding, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return finding{}, err
	}
	var out limitedBuffer
	cmd := exec.CommandContext(ctx, v.o.Worker[0], v.o.Worker[1:]...)
	cmd.Dir = os.TempDir()
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"} // none of our environment, which may hold secrets
	cmd.Stdin, cmd.Stdout = bytes.NewReader(raw), &out
	cmd.WaitDelay = time.Second
	isolate(cmd)
	if err := cmd.Run(); err != nil {
		return finding{}, err
	}
	var found finding
	return found, json.Unmarshal(out.Bytes(), &found)
}

// limitedBuffer refuses more than maxFinding bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxFinding {
		return 0, errors.New("the finding is too long")
	}
	return b.Buffer.Write(p)
}
