package storetest

import (
	"fmt"
	"slices"
	"testing"
)

// testSearchOfNeighbours searches for a word that one task has more often than a limited search reads at once,
// and that the tasks created next have too.
func testSearchOfNeighbours(t *testing.T, s suite) {
	ada := s.user()
	const tasks = 4
	var want []string
	for n := range tasks {
		title := fmt.Sprintf("Task %d", n)
		id := s.titled(ada, title, n)
		for seq := range int64(12) {
			if n == 0 || seq == 0 {
				s.message(id, seq+1, "a zebra")
			}
		}
		want = append(want, title)
	}
	slices.Reverse(want) // the newest first
	if got := s.finds(ada, "zebra"); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
