package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// maxShape limits the text of a shape. A longer one ends in its hash.
const maxShape = 240

// shape describes what a yes "for this session" to a call covers: the operations that
// a person confirms, with program, subcommand, options and where the files are. It is
// "" when only this one call may be allowed.
func (c *Call) shape(operations []operation, decisions []Decision) string {
	var parts []string
	for i := range operations {
		if decisions[i].Action == Allow {
			continue
		}
		part := operations[i].shape(c, decisions[i].Level)
		if part == "" {
			return ""
		}
		if part = string(decisions[i].Level) + " " + part; !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	text := visible(strings.Join(parts, "; "))
	if len(text) <= maxShape {
		return text
	}
	return strings.ToValidUTF8(text[:maxShape-70], "") + "… " + digest(text)
}

// visible replaces unknown parts by "…".
func visible(text string) string { return strings.ReplaceAll(text, unknown, "…") }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (op *operation) shape(c *Call, level Level) string {
	switch {
	case op.doubt != "" || op.danger != "" || op.tainted:
		return ""
	case op.words != nil:
		return op.cause.shape()
	case op.place != nil:
		return op.placeShape(level)
	case op.host != "":
		return op.hostShape()
	case op.tool == NetSearch || op.tool == AgentTask || op.tool == ShellRead:
		return op.tool // its arguments are text
	}
	return op.tool + " " + digest(canonical(c.Input)) // exactly these arguments
}

// placeShape covers the whole workspace for a path inside it, and otherwise exactly this path.
func (op *operation) placeShape(level Level) string {
	switch {
	case !op.place.known() || op.moved:
		return ""
	case level == Info && op.place.inside():
		return op.tool + " in the workspace"
	}
	return op.tool + " /" + strings.Join(op.place.real.abs, "/")
}

// hostShape names the host. If the host is unknown because the command names no address,
// as with package managers, it names the program instead.
func (op *operation) hostShape() string {
	if op.host != unknown {
		return op.tool + " " + op.host
	}
	if op.cause != nil && op.cause.reading != nil && len(op.cause.reading.addresses) == 0 {
		return op.tool + " of " + op.cause.reading.program.key
	}
	return ""
}

// shape lists the program, its subcommand and the names of its options. The operands
// are part of it if the program runs other code: "make test" is not "make deploy".
func (c *invocation) shape() string {
	if c == nil || c.reading == nil {
		return ""
	}
	flags := slices.Compact(slices.Sorted(slices.Values(c.reading.flags)))
	parts := append([]string{c.reading.program.key}, flags...)
	if c.mustBeNamed {
		parts = append(parts, texts(c.reading.operands)...)
	}
	return strings.Join(parts, " ")
}

// canonical returns arguments with sorted members and without spaces.
func canonical(input json.RawMessage) string {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return string(input)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(input)
	}
	return string(text)
}
