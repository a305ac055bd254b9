// Package layering owns the test that keeps the import graph equal to
// docs/architecture.md, "Imports point one way". It has no code of its own.
//
// A package without a rule fails the test: adding a package is a design decision,
// so it needs a rule in rules_test.go.
package layering
