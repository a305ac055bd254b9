package broker

import "testing"

func TestUsersWithoutSlotsAreForgotten(t *testing.T) {
	t.Parallel()
	var slots userSlots
	first, ok := slots.try("u", 1)
	if !ok {
		t.Fatal("the first slot is refused")
	}
	if _, ok := slots.try("u", 1); ok {
		t.Error("a second slot is given")
	}
	first()
	if len(slots.users) != 0 {
		t.Errorf("users known: %d, want 0", len(slots.users))
	}
}
