// Package layering owns the test that keeps the import graph equal to
// docs/architecture.md, "Imports point one way". It has no code of its own.
//
// A package that no rule names fails the test: adding one is a design
// decision, taken by adding it to rules_test.go.
package layering
