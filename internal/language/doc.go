// Package language owns the test that keeps Bellhop's wording plain: names,
// comments and documents use none of the retired words in words_test.go, and each
// name of a test case can be understood alone (cases_test.go). It has no code of its
// own.
//
// A retired word that is genuinely needed (a wire word, a quotation) gets a line
// with its reason in allowed_test.go.
package language
