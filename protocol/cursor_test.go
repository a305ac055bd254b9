package protocol_test

import (
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestCursorsAreOrderedByEpochThenSeq(t *testing.T) {
	t.Parallel()
	ascending := []protocol.Cursor{{}, {Epoch: 1}, {Epoch: 1, Seq: 1}, {Epoch: 1, Seq: 9}, {Epoch: 2}, {Epoch: 2, Seq: 1}}
	for i, c := range ascending {
		for j, d := range ascending {
			if c.Less(d) != (i < j) {
				t.Errorf("%v < %v is %v", c, d, c.Less(d))
			}
		}
	}
	if got := (protocol.Cursor{Epoch: 3, Seq: 41}).String(); got != "3/41" {
		t.Errorf("String: %s", got)
	}
}

func TestStreamIDSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := protocol.StreamID{
			Epoch:  rapid.Int64Range(0, protocol.MaxPosition).Draw(t, "epoch"),
			Offset: rapid.Int64Range(0, protocol.MaxPosition).Draw(t, "offset"),
		}
		if got, err := protocol.ParseStreamID(id.String()); err != nil || got != id {
			t.Fatalf("%v became %v, %v", id, got, err)
		}
	})
}

func TestParseStreamIDRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "3", "3-", "-41", "3-41-1", "3-x", "x-1", "03-41", "3-041", "+3-41", "3-+41", "3--1", "-1", "-1-2",
		" 3-41", "3-41 ", "3-18446744073709551616", "9223372036854775808-1", "1-9007199254740992", "9007199254740992-1",
		"３-1", "1_0-1",
	} {
		if id, err := protocol.ParseStreamID(bad); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%q became %v, %v", bad, id, err)
		}
	}
}
