package main

import (
	"testing"

	"github.com/alecthomas/kong"

	"bellhop/internal/torture"
)

// Without options the command is the proof: 50 rounds with the amounts that
// internal/torture.TestFiftyRoundsAreTheProof adds up.
func TestTortureIsTheProofByDefault(t *testing.T) {
	cli := &commandLine{}
	parser, err := kong.New(cli, kong.Name("bellhop"), helpVars())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"torture"}); err != nil {
		t.Fatal(err)
	}
	got := &cli.Torture.Run
	if got.Rounds != 50 || got.Only != 0 || got.OtherBinary != "" || got.profile() != torture.DefaultProfile() {
		t.Errorf("%+v", got)
	}
}
