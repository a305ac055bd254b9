// Package layering owns the tests that read the module as a whole: its imports equal
// docs/architecture.md, "Imports point one way"; what reads bytes of others has fuzz
// targets; the program compiles for every system of a release. It has no code of its own.
//
// A package without a rule fails the test: adding a package is a design decision,
// so it needs a rule in rules_test.go.
package layering
