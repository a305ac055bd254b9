package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"runtime/debug"

	"bellhop/notebook"
	"bellhop/notebook/verify/gostd"
	"bellhop/notebook/verify/treesitter"
)

// request is one line of a worker's stdin. With Prepare the worker loads what the language needs
// and checks nothing.
type request struct {
	Language string `json:"language"`
	Code     string `json:"code,omitempty"`
	Prepare  bool   `json:"prepare,omitempty"`
	Cache    string `json:"cache,omitempty"` // directory of compiled modules, with Prepare
}

const (
	memoryLimit = 256 << 20
	softLimit   = 160 << 20 // from here on the garbage collector runs more often
	gcPercent   = 30
	retireLimit = 200 << 20 // a worker that holds more is replaced after its answer
	stackLimit  = 64 << 20  // hostile nesting overflows this before it fills the memory
	maxRequest  = 8 * notebook.MaxCode
	maxFinding  = 256 << 10
)

// worker is the state of a worker process between requests.
type worker struct {
	grammars *treesitter.Module // nil until a language needs it
}

// Work is the main function of a worker: for each request on in it writes one line with the
// finding, until in ends. It needs a process of its own, because deeply nested code can end the
// process.
func Work(in io.Reader, out io.Writer) error {
	debug.SetMemoryLimit(softLimit)
	debug.SetGCPercent(gcPercent)
	debug.SetMaxStack(stackLimit)
	w := &worker{}
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines, maxRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.serve(context.Background(), line, out); err != nil {
			return err
		}
	}
}

// readLine returns the next line, or an error if it is longer than limit.
func readLine(from *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, errors.New("verify-worker: the line is too long")
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

func (w *worker) serve(ctx context.Context, line []byte, out io.Writer) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	var found finding
	if r.Prepare {
		if err := w.prepare(ctx, r, &found); err != nil {
			return err
		}
	} else {
		// Preparing reads only our own module, and compiling it needs more.
		if err := limitMemory(memoryLimit); err != nil {
			return err
		}
		if err := w.check(ctx, r, &found); err != nil {
			return err
		}
	}
	found.Diagnostics = found.Diagnostics[:min(len(found.Diagnostics), maxDiagnostics)]
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	found.Retire = found.Retire || memory.Sys-memory.HeapReleased > retireLimit
	return json.NewEncoder(out).Encode(found)
}

// prepare loads what the language needs. It is slow once in a worker's life.
func (w *worker) prepare(ctx context.Context, r request, found *finding) (err error) {
	switch needs(r.Language) {
	case needsGrammars:
		if w.grammars, err = treesitter.Open(ctx, r.Cache); err == nil {
			found.Retire = w.grammars.Compiled
		}
	case needsStandardLibrary:
		_, err = gostd.Load()
	case needsNothing:
	}
	return err
}

func (w *worker) check(ctx context.Context, r request, found *finding) error {
	switch {
	case r.Language == goCheck:
		*found = checkGoTypes(r.Code)
	case needs(r.Language) == needsGrammars && w.grammars != nil:
		*found = w.checkGrammar(ctx, r.Language, r.Code)
	case checkers[r.Language] != nil:
		*found = checkers[r.Language](r.Code)
	default:
		return errors.New("verify-worker: no checker for " + r.Language)
	}
	return nil
}

// need is what a worker must load before it checks a language.
type need int

const (
	needsNothing need = iota
	needsGrammars
	needsStandardLibrary
)

func needs(language string) need {
	if language == goCheck {
		return needsStandardLibrary
	}
	if _, _, found := treesitter.Find(language); found && checkers[language] == nil {
		return needsGrammars
	}
	return needsNothing
}
