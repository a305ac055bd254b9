package broker

import (
	"context"
	"slices"
	"strconv"
	"testing"
)

// duePages has one due task on every second page.
type duePages int

func (pages duePages) DueTasks(_ context.Context, _ bool, _ Overdue, after string, _ int) ([]DueTask, string, error) {
	page := 1
	if after != "" {
		last, err := strconv.Atoi(after)
		if err != nil {
			return nil, "", err
		}
		page = last + 1
	}
	var due []DueTask
	if page%2 == 0 {
		due = []DueTask{{ID: strconv.Itoa(page)}}
	}
	if page == int(pages) {
		return due, "", nil
	}
	return due, strconv.Itoa(page), nil
}

func TestDueTasksOfAllPagesAreUsed(t *testing.T) {
	t.Parallel()
	var ids []string
	err := eachDue(t.Context(), duePages(6), true, Overdue{}, func(d DueTask) { ids = append(ids, d.ID) })
	if want := []string{"2", "4", "6"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("%q, %v; want %q", ids, err, want)
	}
}
