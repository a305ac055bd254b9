//go:build agents && full

package opencode_test

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// On a machine whose processors have ten times the work that they can do, every first turn runs, and none that
// was given up runs in the next.
func TestRealFirstTurnsOnABusyMachine(t *testing.T) { //nolint:paralleltest // it takes the processors of all others
	busy(t, 10)
	for turn := range 20 {
		t.Run(fmt.Sprintf("turn %d", turn+1), func(t *testing.T) {
			began := time.Now()
			r := openReal(t)
			r.options.Quiet = 0 // that of the product
			r.reopen(t)
			if turn%4 == 3 { // given up somewhere between the start of the program and the answer of the model
				given := begin(t, r, &providertest.Recorder{})
				time.Sleep(time.Duration(turn) * 2 * time.Second)
				if err := r.Interrupt(t.Context()); err != nil {
					t.Fatal(err)
				}
				<-given
			}
			before := len(r.llm.Requests())
			out := &providertest.Recorder{}
			outcome := r.prompt(t, "The word of this turn is xylograph", out)
			if outcome.FinishReason != protocol.FinishStop {
				t.Errorf("got %+v", outcome)
			}
			for _, request := range r.llm.Requests()[before:] {
				if !strings.Contains(string(request.Body), "xylograph") {
					t.Errorf("another prompt ran in the turn: %s", request.Body)
				}
			}
			t.Logf("after %s", time.Since(began).Round(time.Second))
		})
	}
}

// busy gives each processor more programs to run, each with a share of its own.
func busy(t *testing.T, programs int) {
	t.Helper()
	for range programs * runtime.NumCPU() {
		c := exec.Command("sh", "-c", "while :; do :; done")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	}
}
