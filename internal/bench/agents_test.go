package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestATeeForwardsEveryByteAndRecordsTheTimesOfNumbers(t *testing.T) {
	written := "{\"text\":\"tick0 \"}\nno number\n{\"text\":\"tick1 tick2 \"}\nan end without a line's"
	var out, notes bytes.Buffer
	from := time.Now().UnixNano()
	if err := passOn(strings.NewReader(written), &out, &notes, ticks); err != nil {
		t.Fatal(err)
	}
	if out.String() != written {
		t.Errorf("passed on %q", out.String())
	}
	if read := readStamps(notes.Bytes()); len(read) != 3 || read[0] < from || read[1] != read[2] || read[1] < read[0] {
		t.Errorf("noted %v", read)
	}
}

func TestALagIsTheTimeFromFirstWriteToFirstRead(t *testing.T) {
	written, read := stamps{}, stamps{}
	written.see("1", 1000)
	written.see("1", 5000) // the complete text again
	written.see("2", 2000)
	read.see("1", 1100)
	read.see("3", 1) // a number of another turn
	var h samples
	if n := written.lags(read, &h); n != 1 || h.spread().P50 != 100 {
		t.Errorf("%d lags, %+v", n, h.spread())
	}
}

func TestARoleTeeRunsItsProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "session"))
	t.Setenv(roleVariable, "tee")
	var out bytes.Buffer
	if code := mainIn(t.Context(), []string{dir, ticks.String(), "sh", "-c", `echo "tick7 $` + roleVariable + `"`}, &out,
		&out); code != 0 || out.String() != "tick7 \n" {
		t.Errorf("exit %d, wrote %q", code, out.String())
	}
	if notes, err := os.ReadFile(stampsOf(dir, "session")); err != nil || readStamps(notes)[7] == 0 {
		t.Errorf("noted %q (%v)", notes, err)
	}
}

func TestScenariosWithThirdPartyProgramsRunOnlyOnRequest(t *testing.T) {
	usual, err1 := choose("")
	asked, err2 := choose("agents,idle")
	if err1 != nil || err2 != nil || len(usual) != len(scenarios)-1 || len(asked) != 2 || asked[0].name != "agents" {
		t.Errorf("%v %v, %v %v", usual, err1, asked, err2)
	}
	if _, err := (&bench{}).run(t.Context(), asked[0]); err == nil ||
		!strings.Contains(err.Error(), "scripts/bench-agents") {
		t.Errorf("without the programs: %v", err)
	}
}
