package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestARunEndsAtTheFirstErrorAndClosesInReverseOrder(t *testing.T) {
	broken, unclosed := errors.New("broken"), errors.New("unclosed")
	var done []string
	rows, err := (&settings{}).run(t.Context(), scenario{measure: func(r *run) []row {
		for _, name := range []string{"first", "second"} {
			r.onClose(func() error {
				done = append(done, name)
				return unclosed
			})
		}
		check(nil)
		r.parallel(3, 1, func(_ context.Context, i int) {
			done = append(done, "part")
			if i == 1 {
				check(broken)
			}
		})
		done = append(done, "after the error")
		return []row{{what: "never"}}
	}})
	if rows != nil || !errors.Is(err, broken) || !errors.Is(err, unclosed) {
		t.Errorf("%v, %v", rows, err)
	}
	if want := []string{"part", "part", "second", "first"}; !slices.Equal(done, want) {
		t.Errorf("%q, want %q", done, want)
	}
}

func TestAPanicOfARunIsNotCaught(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic was taken for an error")
		}
	}()
	_ = caught(func() { panic("a mistake in the scenario") })
}

func TestAnUnknownRoleIsRefused(t *testing.T) {
	if err := PlayRole(t.Context(), "speed", nil, nil); err == nil {
		t.Error("no error")
	}
}
