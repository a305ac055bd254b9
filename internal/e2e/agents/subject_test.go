//go:build agents

package agents

import (
	"testing"

	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
)

// eachAgent runs a test with every agent, each on its own dev.
func eachAgent(t *testing.T, test func(t *testing.T, d *dev)) {
	t.Helper()
	for _, s := range agents.Subjects() {
		t.Run(s.Program, func(t *testing.T) {
			agents.FindCommand(t, s.Program) // fails with installation instructions
			test(t, startDev(t, s, mockllm.New(t)))
		})
	}
}
