// Package language owns the tests that keep Bellhop's wording plain: names, comments,
// documents and names of test cases use none of the retired words in words_test.go, each
// name of a test case can be understood alone (cases_test.go), and lines, functions and files
// of Go are short (length_test.go). It has no code of its own.
//
// A retired word that is genuinely needed (a wire word, a quotation) gets a line
// with its reason in allowed_test.go.
package language
