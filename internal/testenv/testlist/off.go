//go:build !full

package testlist

// IsFull reports whether the tests are built with the tag full.
const IsFull = false
