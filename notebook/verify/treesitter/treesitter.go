// Package treesitter parses code with tree-sitter's grammars. The core and the grammars are one
// WebAssembly module (build/build.mjs makes it), which wazero runs: the code under test reaches no
// memory outside of the module's own.
//
// It reports what the parser found; what that means for a language is the caller's business.
package treesitter

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed module.wasm.gz
var compressed []byte

//go:embed grammars.json
var listed []byte

//go:embed notices.txt
var notices string

// Notices returns the licences of what the module was made of.
func Notices() string { return notices }

// Grammar is one language that the module parses.
type Grammar struct {
	Language string `json:"language"`
	Package  string `json:"package"`
	Version  string `json:"version"`
}

type list struct {
	Module struct {
		MaxMemory uint32 `json:"maxMemory"`
		Size      int    `json:"size"`
		SHA256    string `json:"sha256"`
	} `json:"module"`
	Grammars []Grammar `json:"grammars"`
}

var grammars = sync.OnceValue(func() list {
	var l list
	if err := json.Unmarshal(listed, &l); err != nil {
		panic(fmt.Sprintf("treesitter: grammars.json: %v", err))
	}
	return l
})

// Find returns the grammar of a language and its number in the module.
func Find(language string) (Grammar, uint32, bool) {
	for i, g := range grammars().Grammars {
		if g.Language == language {
			return g, uint32(i), true //nolint:gosec // a few dozen
		}
	}
	return Grammar{}, 0, false
}

// Kind is the kind of a finding.
type Kind uint32

// Kinds, as in glue.c.
const (
	Unexpected    Kind = 1 // text that the grammar does not allow here
	Missing       Kind = 2 // a token that must be here
	UnclosedFence Kind = 3 // a fenced code block of Markdown without an end
	EmptyBlock    Kind = 4 // a statement of Python without its body
	OldStatement  Kind = 5 // a statement of Python 2
	Indent        Kind = 6 // a statement of Python at another column than those before it
)

// Extra is what a parse looks for beside errors, as in glue.c.
type Extra int32

// Extras.
const (
	None   Extra = 0
	Fences Extra = 1 // UnclosedFence
	Python Extra = 2 // EmptyBlock, OldStatement and Indent
)

// Finding is something that a parser reported. Start and End are byte offsets; Token is the
// missing one.
type Finding struct {
	Kind       Kind
	Start, End int
	Token      string
}

// Result of a parse. ErrorRow and ErrorCol are the end of the last token before the first error,
// from 0; ErrorRow is -1 if that is unknown.
type Result struct {
	Findings []Finding
	ErrorRow int
	ErrorCol int
}

// stored counts the files of a cache.
func stored(cache string) (files int) {
	_ = filepath.WalkDir(cache, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files++
		}
		return nil
	})
	return files
}

// Module parses code, one piece at a time. It is not safe for concurrent use.
type Module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	instance api.Module // nil until the first parse and after a failure

	// Compiled reports that Open stored a new result in the cache. The compiler has left little
	// memory: parse with a new process, which loads the result.
	Compiled bool
}

// Open compiles the module, which takes many seconds unless cache is a directory that holds an
// earlier result. Cache "" is none.
func Open(ctx context.Context, cache string) (*Module, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(grammars().Module.MaxMemory >> 16)
	if cache != "" {
		files, err := wazero.NewCompilationCacheWithDir(cache)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(files)
	}
	code, err := decompress()
	if err != nil {
		return nil, err
	}
	before := stored(cache)
	m := &Module{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	if m.compiled, err = m.runtime.CompileModule(ctx, code); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	m.Compiled = stored(cache) > before
	return m, nil
}

func decompress() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	code := make([]byte, grammars().Module.Size)
	_, err = io.ReadFull(r, code)
	return code, err
}

// Close releases the module.
func (m *Module) Close(ctx context.Context) error { return m.runtime.Close(ctx) }

// Parse parses code with a grammar. After an error, such as memory that is used up, the next call
// starts with a new instance.
func (m *Module) Parse(ctx context.Context, grammar uint32, code string, extra Extra) (Result, error) {
	if m.instance == nil {
		config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
		instance, err := m.runtime.InstantiateModule(withMemory(ctx), m.compiled, config)
		if err != nil {
			return Result{}, err
		}
		m.instance = instance
	}
	result, err := m.parse(ctx, uint64(grammar), code, extra)
	if err != nil || m.instance.Memory().Size() > grammars().Module.MaxMemory/2 {
		err = errors.Join(err, m.instance.Close(ctx))
		m.instance = nil
	}
	return result, err
}

func (m *Module) parse(ctx context.Context, grammar uint64, code string, extra Extra) (Result, error) {
	length := uint64(len(code))
	at, err := m.place(ctx, code)
	if err != nil {
		return Result{}, err
	}
	n, err := m.call(ctx, "check", grammar, at, length, api.EncodeI32(int32(extra)))
	if err != nil {
		return Result{}, err
	}
	if api.DecodeI32(n) < 0 {
		return Result{}, errors.New("treesitter: the parser did not start")
	}
	result := Result{ErrorRow: -1}
	if result.Findings, err = m.findings(ctx, api.DecodeU32(n)); err != nil {
		return Result{}, err
	}
	if slices.ContainsFunc(result.Findings, func(f Finding) bool { return f.Kind == Unexpected }) {
		if result.ErrorRow, result.ErrorCol, err = m.firstError(ctx, grammar, at, length); err != nil {
			return Result{}, err
		}
	}
	_, err = m.call(ctx, "release", at)
	return result, err
}

// place copies code into the module's memory and returns its address.
func (m *Module) place(ctx context.Context, code string) (uint64, error) {
	at, err := m.call(ctx, "allocate", uint64(len(code))+1)
	if err == nil && (at == 0 || !m.instance.Memory().WriteString(uint32(at), code)) { //nolint:gosec // an address of 32 bits
		err = errors.New("treesitter: no memory for the code")
	}
	return at, err
}

// FirstError returns where the parser could not continue, as Result does; row is -1 if it reached the
// end. It reads only up to there, right after a Parse.
func (m *Module) FirstError(ctx context.Context, grammar uint32, code string) (row, column int, err error) {
	if m.instance == nil {
		return -1, 0, errors.New("treesitter: nothing was parsed before")
	}
	at, err := m.place(ctx, code)
	if err == nil {
		row, column, err = m.firstError(ctx, uint64(grammar), at, uint64(len(code)))
	}
	if err == nil {
		_, err = m.call(ctx, "release", at)
	}
	if err != nil {
		err = errors.Join(err, m.instance.Close(ctx))
		m.instance = nil
	}
	return row, column, err
}

func (m *Module) firstError(ctx context.Context, grammar, at, length uint64) (row, column int, err error) {
	position, err := m.call(ctx, "first_error", grammar, at, length)
	if err != nil || int64(position) < 0 { //nolint:gosec // the bits of a signed number
		return -1, 0, err
	}
	return int(position >> 32), int(uint32(position)), nil //nolint:gosec // two halves
}

// call returns the result of a function, 0 if it has none.
func (m *Module) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	results, err := m.instance.ExportedFunction(name).Call(ctx, args...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

const findingSize = 16 // four numbers of 32 bits

func (m *Module) findings(ctx context.Context, n uint32) ([]Finding, error) {
	at, err := m.call(ctx, "findings")
	if err != nil {
		return nil, err
	}
	raw, ok := m.instance.Memory().Read(uint32(at), n*findingSize) //nolint:gosec // an address of 32 bits
	if !ok {
		return nil, errors.New("treesitter: the findings are outside of the memory")
	}
	found := make([]Finding, n)
	for i := range found {
		field := func(k int) uint32 { return binary.LittleEndian.Uint32(raw[i*findingSize+4*k:]) }
		found[i] = Finding{Kind: Kind(field(0)), Start: int(field(1)), End: int(field(2)), Token: m.text(field(3))}
	}
	return found, nil
}

// text returns the C string at an address: a name of a grammar's symbol.
func (m *Module) text(at uint32) string {
	const longest = 64
	raw, ok := m.instance.Memory().Read(at, min(longest, m.instance.Memory().Size()-at))
	if !ok {
		return ""
	}
	name, _, _ := bytes.Cut(raw, []byte{0})
	return string(name)
}
