// Package testlist says whether tests are built with the tag full, as "make check" does and "make test" does not.
package testlist

// OrEvery returns all cases of a table if tests are built with the tag full, and every n-th of them otherwise.
func OrEvery[T any](n int, cases []T) (some []T) {
	if IsFull {
		return cases
	}
	for i := 0; i < len(cases); i += n {
		some = append(some, cases[i])
	}
	return some
}
