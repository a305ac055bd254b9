package app

import (
	"strings"
	"testing"

	"bellhop/agenthost/sandbox"
)

func TestLimitsOfTheHostFile(t *testing.T) {
	t.Parallel()
	file, err := readHostFile(t, "sandbox: {limits: {mode: required, memory: 6GiB, processes: 500, cpuWeight: 20}}")
	want := sandbox.Limits{Mode: sandbox.LimitRequired, Memory: 6 << 30, Processes: 500, CPUWeight: 20}
	if options := file.Sandbox.options(); err != nil || options.Limits != want || options.Processes != 500 {
		t.Errorf("%+v, %v", file.Sandbox.Limits, err)
	}
	if file, err = readHostFile(t, "sandbox: {limits: off}"); err != nil || file.Sandbox.Limits.Mode != sandbox.LimitOff {
		t.Errorf("%+v, %v", file.Sandbox.Limits, err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"an unknown member":    {"sandbox: {limits: {disk: 1GiB}}", "limits has no disk"},
		"an unknown mode":      {"sandbox: {limits: maybe}", `unknown mode "maybe" of limits`},
		"a size without unit":  {"sandbox: {limits: {memory: 6}}", `memory is no size: "6"`},
		"a size that is huge":  {"sandbox: {limits: {memory: 99999999999TiB}}", "memory is no size"},
		"a small size":         {"sandbox: {limits: {memory: 1MiB}}", "below 64 MiB"},
		"no number":            {"sandbox: {limits: {processes: many}}", "processes is no number"},
		"a weight of a ton":    {"sandbox: {limits: {cpuWeight: 1000000}}", "between 1 and 10000"},
		"required without any": {"sandbox: {mode: off, limits: required}", "need the sandbox"},
	} {
		if _, err := readHostFile(t, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
