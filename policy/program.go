package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bellhop/internal/yamlfile"
)

//go:embed programs.yaml
var programFile []byte

// program is one row of programs.yaml: a program, or a program and its subcommand,
// whose words are understood. The top of programs.yaml describes the columns.
type program struct {
	key      string // "git log"
	named    string // why a rule allows the command only if it names the key's words; "" if any rule may allow it
	net      string // the tool name of the operations for the addresses that it reaches; "" if it reaches none
	operands []kind
	repeats  int // index of the operand that repeats, -1 for none
	flags    map[string]option
	instead  []string // options that take the place of the first operand
	expects  []string // options of which one must be there

	isGroup     bool // there are rows for its subcommands
	alone       bool // it also runs without a subcommand
	words       bool // its options are whole words, with one dash or two
	anyOption   bool // an option that is not in flags is accepted
	moves       bool // it changes names or links of files
	atTop       bool // it is understood only in the workspace's own directory
	takesDigits bool // -5 is an option
	isFree      bool // no word of it can name a file, so all are only text
}

// option is one option of a program.
type option struct {
	value    kind // "" for none
	optional bool // the value is there only if it is in the same word
	last     bool // the letter must end its group (-vi): further letters would be its value
	inPlace  bool // the program writes the files that it reads
}

// programText is a row of programs.yaml before it is compiled.
type programText struct {
	Program   string
	Operands  string
	Flags     string
	Names     string
	Net       string
	Instead   string
	Expects   string
	Words     bool
	AnyOption bool `yaml:"anyOption"`
	Moves     bool
	AtTop     bool `yaml:"atTop"`
	Alone     bool
}

// programs returns the table of known programs by key. The table is parsed at the first call.
var programs = sync.OnceValue(func() map[string]*program {
	table, err := readPrograms(programFile)
	if err != nil {
		panic("policy: programs.yaml: " + err.Error())
	}
	return table
})

func readPrograms(text []byte) (map[string]*program, error) {
	var file struct {
		Shared map[string]string
		Rows   []programText
	}
	root, err := yamlfile.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := yamlfile.Decode(root, &file); err != nil {
		return nil, err
	}
	table := map[string]*program{}
	for _, row := range file.Rows {
		for key := range strings.SplitSeq(row.Program, ", ") {
			p, err := row.compile(key, file.Shared)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			if table[key] != nil {
				return nil, fmt.Errorf("%s: has two rows", key)
			}
			table[key] = p
		}
	}
	for key := range table {
		if at := strings.LastIndexByte(key, ' '); at > 0 {
			if table[key[:at]] == nil {
				return nil, fmt.Errorf("%s: has no row for %q", key, key[:at])
			}
			table[key[:at]].isGroup = true
		}
	}
	return table, nil
}

func (t *programText) compile(key string, shared map[string]string) (*program, error) {
	p := &program{
		key: key, named: t.Names, net: t.Net, repeats: -1, flags: map[string]option{}, alone: t.Alone,
		words: t.Words, anyOption: t.AnyOption, moves: t.Moves, atTop: t.AtTop,
		instead: strings.Fields(t.Instead), expects: strings.Fields(t.Expects),
	}
	for i, name := range strings.Fields(t.Operands) {
		name, repeats := strings.CutSuffix(name, "*")
		if repeats {
			p.repeats = i
		}
		if !kind(name).exists() {
			return nil, fmt.Errorf("no kind %q", name)
		}
		p.operands = append(p.operands, kind(name))
	}
	p.isFree = p.anyOption && !slices.ContainsFunc(p.operands, kind.isPath)
	return p, p.addFlags(t.Flags, shared)
}

func (p *program) addFlags(list string, shared map[string]string) error {
	for text := range strings.FieldsSeq(list) {
		if name, ok := strings.CutPrefix(text, "@"); ok {
			if shared[name] == "" {
				return fmt.Errorf("no shared list %q", name)
			}
			if err := p.addFlags(shared[name], shared); err != nil {
				return err
			}
			continue
		}
		if text == "-#" {
			p.takesDigits = true
			continue
		}
		if err := p.addFlag(text); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) addFlag(text string) error {
	name, value, _ := strings.Cut(text, ":")
	var f option
	name, f.last = strings.CutSuffix(name, "!")
	value, f.optional = strings.CutPrefix(value, "?")
	if value == "inplace" {
		value, f.inPlace = "", true
	}
	if f.value = kind(value); value != "" && !f.value.exists() {
		return fmt.Errorf("no kind %q", value)
	}
	p.flags[name] = f
	return nil
}

// isRepeated reports whether the i-th of n operands is a repetition of the operand with *.
func (p *program) isRepeated(i, n int) bool {
	after := len(p.operands) - 1 - p.repeats
	return p.repeats >= 0 && i >= p.repeats && n-i > after
}

// operand returns the kind of the i-th of n operands, "" if there is none.
func (p *program) operand(i, n int) kind {
	switch {
	case p.isRepeated(i, n):
		return p.operands[p.repeats]
	case p.repeats >= 0 && i >= p.repeats:
		return p.operands[len(p.operands)-(n-i)]
	case i < len(p.operands):
		return p.operands[i]
	}
	return ""
}
