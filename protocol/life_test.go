package protocol_test

import (
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestALifeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"", "build-1:/var/lib/bellhop", "Büro: /a b/ü\n"} {
		life := protocol.NewLife("a1b2", place)
		got := protocol.ParseLife(life.String())
		life.Place = strings.ReplaceAll(place, "\n", " ")
		if got != life || got.IsZero() {
			t.Errorf("%q: %+v instead of %+v", life.String(), got, life)
		}
		if short := protocol.ParseLife(life.Short()); short.ID != life.ID || short.Host != life.Host || short.Place != "" {
			t.Errorf("%+v", short)
		}
	}
	if first, second := protocol.NewLife("a", ""), protocol.NewLife("a", ""); first == second {
		t.Error("two lives are equal")
	}
}

func TestAHeaderThatIsNoLifeIsNone(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"", ".", "a", "a.", ".b", "a.b.c", "a .b", "ü.b", strings.Repeat("a", 65) + ".b", "a." + strings.Repeat("b", 65), "a.b\x00",
	} {
		if life := protocol.ParseLife(header); !life.IsZero() {
			t.Errorf("%q: %+v", header, life)
		}
	}
	if life := protocol.ParseLife("a.b %zz"); life.ID != "b" || life.Place != "" {
		t.Errorf("%+v", life)
	}
	if life := protocol.ParseLife("a.b " + strings.Repeat("p", 500)); len(life.Place) > 210 {
		t.Errorf("place of %d bytes", len(life.Place))
	}
}
