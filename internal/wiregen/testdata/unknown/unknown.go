// Package unknown has a type without values.
package unknown

// T is a number.
type T int
