package app

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bellhop/agenthost/sandbox"
	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// LimitsFile configures the limits of each session's programs in the host's configuration file. A string
// is short for an object with only a mode.
type LimitsFile struct {
	Mode      sandbox.LimitMode `yaml:"mode"`
	Memory    string            `yaml:"memory"`    // a number with KiB, MiB, GiB or TiB
	Processes string            `yaml:"processes"` // with threads
	CPUWeight string            `yaml:"cpuWeight"` // against 100 of the host
}

// limitsFields has no UnmarshalYAML, so decoding it does not recurse.
type limitsFields LimitsFile

// UnmarshalYAML decodes a string as the mode.
func (l *LimitsFile) UnmarshalYAML(node *yamlfile.Node) error {
	if node.Kind == yamlfile.Scalar {
		return yamlfile.Decode(node, &l.Mode)
	}
	if err := checkKeys(node, "limits", "mode", "memory", "processes", "cpuWeight"); err != nil {
		return err
	}
	return yamlfile.Decode(node, (*limitsFields)(l))
}

func (l LimitsFile) check(mode sandbox.Mode) error {
	if _, err := parseSize(l.Memory); err != nil {
		return err
	}
	for name, text := range map[string]string{"processes": l.Processes, "cpuWeight": l.CPUWeight} {
		if _, err := strconv.ParseUint(text, 10, 31); text != "" && err != nil {
			return protocol.Errorf(protocol.CodeInvalid, "sandbox: %s is no number: %q", name, text)
		}
	}
	if l.Mode == sandbox.LimitRequired && mode == sandbox.ModeOff {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "sandbox: required limits need the sandbox",
			Hint: "Remove 'mode: off', or 'mode: required' of limits.",
		}
	}
	return l.limits().Check()
}

// limits returns the limits. The file was checked before, so no error is possible.
func (l LimitsFile) limits() sandbox.Limits {
	memory, _ := parseSize(l.Memory)
	processes, _ := strconv.Atoi(l.Processes)
	weight, _ := strconv.Atoi(l.CPUWeight)
	return sandbox.Limits{Mode: l.Mode, Memory: memory, Processes: processes, CPUWeight: weight}
}

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}

// parseSize returns bytes, 0 for "".
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.suffix)
		if !found {
			continue
		}
		size, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && size > 0 && size <= math.MaxInt64/unit.bytes {
			return size * unit.bytes, nil
		}
	}
	return 0, &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: memory is no size: %q", text),
		Hint: "Write a whole number with KiB, MiB, GiB or TiB, such as 6GiB.",
	}
}
